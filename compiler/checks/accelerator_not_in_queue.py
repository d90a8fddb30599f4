"""The queue does not give out what the run is made of.

## What it does
Reports a queue whose `accelerators` do not hold those of the run, and a run without accelerators
in a queue with `cpu_only: false`.

## Why it is bad
A ClusterQueue admits only what it covers. The workload stays pending with the note \"unavailable
in ClusterQueue\", which nobody sees who does not look.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: interactive
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
- kubernetes-sigs/kueue#4848
- kubernetes-sigs/kueue: pkg/scheduler/flavorassigner/flavorassigner.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.suggestions import any_of

RULE = Rule(
    code="OPS816",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubernetes-sigs/kueue#4848",
        "kubernetes-sigs/kueue: pkg/scheduler/flavorassigner/flavorassigner.go",
    ),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """A queue that gives out other accelerators."""
    queues = site.cluster.value.queues or {}
    if run.queue is None or not site.kueue or run.queue not in queues:
        return
    queue = queues[run.queue]
    place = site.cluster.place("queues", run.queue, "accelerators")
    for member in run.members:
        devices = member.devices
        if devices is None and queue.cpu_only is False:
            yield Report(
                ("queue",),
                f"the queue `{run.queue}` takes no runs without accelerators",
                _instead(site, None),
                ((site.cluster.place("queues", run.queue, "cpu_only"), "the queue"),),
            )
        elif (
            devices is not None
            and queue.accelerators is not None
            and devices.name not in queue.accelerators
        ):
            has = ", ".join(queue.accelerators) or "none"
            yield Report(
                ("queue",),
                f"the queue `{run.queue}` gives out no {devices.name} (its accelerators: {has})",
                _instead(site, devices.name),
                (
                    (place, "the queue"),
                    (run.routes(member, "accelerators"), "what the run asks for"),
                ),
            )


def _instead(site: Site, accelerator: str | None) -> str:
    allowed = site.team.value.queues
    fitting = [
        name
        for name, queue in (site.cluster.value.queues or {}).items()
        if (allowed is None or name in allowed)
        and (
            queue.cpu_only is not False
            if accelerator is None
            else queue.accelerators is None or accelerator in queue.accelerators
        )
    ]
    return any_of(fitting) if fitting else "no queue of the team gives it out"
