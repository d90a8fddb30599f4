"""A run on a cluster with Kueue names no queue.

## What it does
Reports runs without `queue` where Kueue admits runs, from whatever layer it could come.

## Why it is bad
Without the queue label Kueue does not manage the run: it starts at once, outside all quotas, on
nodes that were promised to others. Where Kueue is told to manage every job, it waits for ever
instead.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- kubernetes-sigs/kueue#1527
- kubernetes-sigs/kueue: pkg/controller/jobframework/reconciler.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.suggestions import any_of

RULE = Rule(
    code="OPS824",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubernetes-sigs/kueue#1527",
        "kubernetes-sigs/kueue: pkg/controller/jobframework/reconciler.go",
    ),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The lack of a queue under Kueue."""
    known = site.cluster.value.queues or {}
    # Kueue itself adds the label where the namespace has a LocalQueue of this name.
    if run.queue is not None or not site.kueue or "default" in known:
        return
    allowed = site.team.value.queues
    devices = run.others.devices
    fitting = [
        name
        for name, queue in known.items()
        if (allowed is None or name in allowed)
        and (
            queue.cpu_only is not False
            if devices is None
            else queue.accelerators is None or devices.name in queue.accelerators
        )
    ]
    yield Report(
        ("queue",),
        f"Kueue admits the runs of {site.cluster.name}, and this one names no queue",
        any_of(fitting, start="add `queue:` with") if fitting else "add `queue:`",
        ((site.cluster.place("queues", key=True), "the cluster's queues"),),
    )
