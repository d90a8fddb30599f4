"""A waiver has ended.

## What it does
Reports a waiver, of a job or under `policy/waivers/`, whose last day is over.

## Why it is bad
It waives nothing any more: what it waived is reported again. Runs that are active go on, and no
new one starts. And where nothing needs it any more, readers still believe that something does.

## Example
```yaml
# policy/waivers/fabric.yaml
rule: part-of-a-node
jobs: [vision/nccl-check]
reason: it measured the network between parts of nodes
approver: example-org/platform
until: 2026-01-31
```

## Use instead
```yaml
# policy/waivers/wav2vec.yaml
rule: duration-above-cap
jobs: [speech/wav2vec]
reason: an epoch takes a day, and it cannot go on from within one yet
approver: example-org/platform
until: 2126-01-31
```

## References
- spotbugs/spotbugs#918
- Azure/azure-rest-api-specs#28754
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Severity
from compiler.rules import Rule, lookup
from compiler.weights import expired, obstacle

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.project import Project

RULE = Rule(
    code="DEC240",
    severity=Severity.WARNING,
    stage="repository",
    sources=("spotbugs/spotbugs#918", "Azure/azure-rest-api-specs#28754"),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The waivers of policy that have ended; those of jobs are seen when the job is judged."""
    for waiver in project.policy.waivers.values():
        known = lookup(waiver.value.rule)
        if known is None or obstacle(known) or waiver.value.until >= project.today:
            continue
        remedy = "mend the jobs and delete the file, or have a later day approved"
        yield expired(waiver.place("until"), waiver.value.until, remedy)
