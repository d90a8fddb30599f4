"""A waiver is not needed.

## What it does
Reports a waiver, of a job or under `policy/waivers/`, without which nothing more would be found,
and a pattern in `jobs` that is the name of no job. A waiver is only called unused when each of its
jobs could be judged to the end.

## Why it is bad
Whoever approved it believes that it is needed, and whoever breaks the rule next year in one of its
jobs never learns of it.

## Example
```yaml
# policy/waivers/fabric.yaml
rule: part-of-a-node
jobs: [vision/nccl-check]
reason: it measures the network between parts of nodes
approver: example-org/platform
until: 2126-01-31
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
- astral-sh/ruff#15084
- ast-grep/ast-grep#1346
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Severity
from compiler.rules import Rule, finding, lookup
from compiler.suggestions import nearest
from compiler.weights import concerns, obstacle

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.project import Project

RULE = Rule(
    code="DEC241",
    severity=Severity.WARNING,
    stage="repository",
    sources=("astral-sh/ruff#15084", "ast-grep/ast-grep#1346"),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The waivers of policy that are in force for nothing."""
    if project.only_cluster is not None:
        # What is found on the other clusters is not known.
        return
    names = {f"{job.team}/{job.job}": job for job in jobs}
    # A file that cannot be read may be anybody's.
    nameless = any(not job.team for job in jobs)
    for waiver in project.policy.waivers.values():
        known = lookup(waiver.value.rule)
        if known is None or obstacle(known) or waiver.value.until < project.today:
            continue
        for index, pattern in enumerate(waiver.value.jobs):
            if not nameless and not any(fnmatchcase(name, pattern) for name in names):
                near = nearest(pattern, names)
                yield finding(
                    "unused-waiver",
                    waiver.place("jobs", index),
                    f"there is no job `{pattern}`",
                    f"write `{near}`" if near else "take it out; jobs are named as team/name",
                )
        own = [job for name, job in names.items() if concerns(waiver.value, name)]
        if not own or not all(job.runs for job in own):
            continue
        if not any(waiver.path in job.waivers for job in own):
            which = f"{own[0].team}/{own[0].job}" if len(own) == 1 else f"any of {len(own)} jobs"
            yield finding(
                "unused-waiver",
                waiver.place("rule"),
                f"nothing in {which} breaks `{waiver.value.rule}`",
                "delete the file",
            )
