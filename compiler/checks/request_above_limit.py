"""A container requests more than its limit.

## What it does
Reports a request of cores or memory above its limit, compared as numbers (`1024Mi` is `1Gi`), for
the training container, sidecars, init containers and containers of `pod:`.

## Why it is bad
The API server refuses such a pod. A PyTorchJob itself passes, since nobody looks into its
template until the pods are made, and so the job hangs with an error in the operator's log.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
memory: {request: 1200Gi, limit: 1Ti}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
memory: {request: 800Gi, limit: 1Ti}
```

## References
- kubernetes/kubernetes#57170
- FNNDSC/pman#199
"""

from collections.abc import Iterator

from compiler.containers import Container, containers, counted_whole
from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="RES414",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubernetes/kubernetes#57170", "FNNDSC/pman#199"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The requests above their limits, of every container."""
    for member in run.members:
        for part in containers(run, member):
            yield from _container(part)


def _container(part: Container) -> Iterator[Report]:
    for name, request in part.requests.items():
        limit = part.limits.get(name)
        # Devices have a rule of their own: of them both numbers must be equal.
        if limit is None or counted_whole(name) or request.value.value <= limit.value.value:
            continue
        yield Report(
            request.route,
            f"{part.name} requests {request.value} of {name}, and its limit is {limit.value}",
            f"write {limit.value} or less, or raise the limit",
            ((limit.route, "the limit"),),
        )
