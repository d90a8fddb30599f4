"""A waiver that is needed ends soon.

## What it does
Reports, from `waiver_notice` (14 days, unless `policy/rules.yaml` says otherwise) before its last
day on, a waiver of a job or under `policy/waivers/` that something needs.

## Why it is bad
On the day after its last one, what it waives is reported again. If that is an error, the jobs
cannot start a run any more, and somebody finds out in a hurry.

## Example
```sh
# Its last day is in a week.
day=$(date -u -d '+7 days' +%F 2>/dev/null || date -u -v +7d +%F)
cat >policy/waivers/wav2vec.yaml <<END
rule: duration-above-cap
jobs: [speech/wav2vec]
reason: an epoch takes a day, and it cannot go on from within one yet
approver: example-org/platform
until: $day
END
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
- kyverno/kyverno#14539
- spotbugs/spotbugs#918
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Severity
from compiler.rules import Rule, lookup
from compiler.weights import ending, noticed

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.project import Project

RULE = Rule(
    code="DEC242",
    severity=Severity.NOTICE,
    stage="repository",
    sources=("kyverno/kyverno#14539", "spotbugs/spotbugs#918"),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The waivers of policy that are needed, and not for long any more."""
    for waiver in project.policy.waivers.values():
        until, known = waiver.value.until, lookup(waiver.value.rule)
        if known is None or until < project.today:
            continue
        needing = [f"{job.team}/{job.job}" for job in jobs if waiver.path in job.waivers]
        if needing and noticed(until, project.today, project.policy):
            named = ", ".join(needing[:3]) + (
                f" and {len(needing) - 3} more" if needing[3:] else ""
            )
            then = "is reported again"
            if known.rule.kind == "policy":
                then = f"keeps new runs of {named} from starting"
            yield ending(waiver.place("until"), until, project.today, then)
