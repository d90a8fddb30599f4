"""A time is never reached, for the run ends before.

## What it does
Compares `checkpoint: {every: ...}` and `stop: {grace: ...}` with the `max_duration` of the same
file, which ends the run.

## Why it is bad
A run that saves itself less often than it may live never saves itself: at the end of its time, or
when a node fails, all of it is lost. A grace as long as the run is one that nobody waits for.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 12h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30d, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 12h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- kubeflow/trainer#3358
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Route, Run
from compiler.quantity import duration_text
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH549", severity=Severity.WARNING, stage="run", sources=("kubeflow/trainer#3358",)
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The times that are as long as the run itself."""
    if run.max_duration is None or not run.origins.set(("max_duration",)):
        return
    every: Route = ("checkpoint", "every")
    grace: Route = ("stop", "grace")
    most = duration_text(run.max_duration)
    related = ((("max_duration",), "how long the run may take"),)
    if _beside(run, every) and run.checkpoint is not None and _every(run) >= run.max_duration:
        yield Report(
            every,
            f"a checkpoint every {duration_text(_every(run))}, and the run ends "
            f"after {most}: it never saves itself",
            "write less" + (", such as 30m" if run.max_duration > 30 * 60 else ""),
            related,
        )
    if _beside(run, grace) and run.grace >= run.max_duration:
        yield Report(
            grace,
            f"{duration_text(run.grace)} to stop, and the run ends after {most}",
            "write less: the time that its last checkpoint takes"
            + (", such as 5m" if run.max_duration > 5 * 60 else ""),
            related,
        )


def _every(run: Run) -> int:
    return (run.checkpoint.every if run.checkpoint is not None else None) or 0


def _beside(run: Run, route: Route) -> bool:
    """Whether a time is written in the file that says how long the run may take.

    A short run on the usual times of a team or an image is nobody's mistake.
    """
    place = run.origins.place(route) if run.origins.set(route) else None
    return place is not None and place.path == run.origins.place(("max_duration",)).path
