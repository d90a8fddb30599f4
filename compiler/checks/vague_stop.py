"""A stop does not say what it stops.

## What it does
Reports a file under `policy/stops/` that names none of `run`, `team` and `image`, or more than one
of them, and a run that is not written as team and name.

## Why it is bad
What it should stop is anybody's guess: nothing, the one run, or the whole team. Publish does not
guess. As long as such a file is there, no run starts, for it may be the one that is to be stopped.

## Example
```yaml
# policy/stops/storage.yaml
team: nlp
image: llm-sft
reason: the checkpoint volume is full
until: 2126-01-31
```

## Use instead
```yaml
# policy/stops/storage.yaml
image: llm-sft
reason: the checkpoint volume is full
until: 2126-01-31
```

## References
- kubernetes-sigs/kueue#7929
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Related, Severity
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.policy.rules import StopPolicy
    from compiler.project import Project

RULE = Rule(
    code="DEC260",
    severity=Severity.ERROR,
    stage="repository",
    sources=("kubernetes-sigs/kueue#7929",),
)
SUBJECTS = ("run", "team", "image")


def named(stop: StopPolicy) -> list[str]:
    """Which of run, team and image a stop names."""
    return [subject for subject in SUBJECTS if getattr(stop, subject) is not None]


def clear(stop: StopPolicy) -> bool:
    """Whether a stop says what it stops."""
    whole = stop.run is None or all(stop.run.partition("/")[::2])
    return len(named(stop)) == 1 and whole


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The stops that name nothing, or several things, or half of a run's name."""
    for stop in project.policy.stops.values():
        if clear(stop.value):
            continue
        subjects = named(stop.value)
        if not subjects:
            place, message = stop.place("reason", key=True), "this stop names nothing to stop"
            remedy = "add one of: run, team, image"
        elif len(subjects) > 1:
            place = stop.place(subjects[1], key=True)
            message = f"this stop names both `{subjects[0]}` and `{subjects[1]}`"
            remedy = "keep one of the two; a second file can stop the other"
        else:
            place, message = stop.place("run"), f"`{stop.value.run}` is no run"
            remedy = "write team/name, as `runs JOB` and the ledger call it: nlp/tune-r3"
        others = [Related(stop.place(subjects[0], key=True), "the first")] if subjects[1:] else []
        yield finding("vague-stop", place, message, remedy, others)
