"""A stop whose last day is over.

## What it does
Reports a file under `policy/stops/` whose `until` is past.

## Why it is bad
It stops nothing any more: what it stopped has gone on since. Who reads the folder for what is
stopped now is misled, and who still counts on it does not know that it has ended.

## Example
```yaml
# policy/stops/storage.yaml
team: nlp
reason: the checkpoint volume is full
until: 2026-01-31
```

## Use instead
```yaml
# policy/stops/storage.yaml
team: nlp
reason: the checkpoint volume is full
until: 2126-01-31
```

## References
- airbytehq/airbyte#15202
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Severity
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.project import Project

RULE = Rule(
    code="OPS858",
    severity=Severity.WARNING,
    stage="repository",
    sources=("airbytehq/airbyte#15202",),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The stops that have ended."""
    for stop in project.policy.stops.values():
        until = stop.value.until
        if until is not None and until < project.today:
            yield finding(
                "expired-stop",
                stop.place("until"),
                f"this stop ended on {until}: what it stopped goes on",
                "delete the file, or write a later day",
            )
