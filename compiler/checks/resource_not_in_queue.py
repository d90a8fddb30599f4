"""The run requests a resource that its queue does not cover.

## What it does
Reports requests of resources other than cores, memory and the queue's accelerators (device
resources, ephemeral storage), in any container, that are missing from the queue's `resources`.

## Why it is bad
One resource that the ClusterQueue does not cover keeps the whole run pending for ever, though
there is room for all the rest.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
resources: {example.com/licence: 1}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
resources: {rdma/hca_shared_devices_a: 1}
```

## References
- kubernetes-sigs/kueue#4848
"""

from collections.abc import Iterator

from compiler.containers import OWN_FIELDS, containers, is_device
from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="OPS826",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubernetes-sigs/kueue#4848",),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The requests that the queue does not cover."""
    queues = site.cluster.value.queues or {}
    if run.queue is None or not site.kueue or run.queue not in queues:
        return
    covered = {"cpu", "memory", *(queues[run.queue].resources or ())}
    covered |= {entry.resource for entry in (site.cluster.value.accelerators or {}).values()}
    for member in run.members:
        for part in containers(run, member):
            for name, request in part.requests.items():
                if name in covered or request.value.value == 0:
                    continue
                by_name = request.route[-2:-1] == ("resources",)
                if not is_device(name) and (name not in OWN_FIELDS or by_name):
                    # A mistake of its own: of resource-with-a-field, or refused-pod-value.
                    continue
                yield Report(
                    request.route,
                    f"the queue `{run.queue}` does not cover {name}, so it would never admit"
                    " the run",
                    "take it out, choose another queue, or have it added to the ClusterQueue"
                    " and to the queue's `resources`",
                    ((site.cluster.place("queues", run.queue), "the queue"),),
                )
