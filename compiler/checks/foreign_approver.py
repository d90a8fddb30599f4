"""A waiver is approved by somebody who may not.

## What it does
Reports a waiver under `policy/waivers/` whose `approver` is none of the `owners` that
`policy/rules.yaml` names. Where these name a team of the host (`org/team`), a login may be of it:
that is known to the host alone, and nothing is reported. A waiver that has ended is left alone.

## Why it is bad
What policy forbids is lifted by those who keep policy, not by those whom it binds: the author of a
job, or an owner of its team, would be allowing it to themselves. And who asks next year why a run
may do what no other may, should find somebody who can tell.

## Example
```yaml
# policy/waivers/wav2vec.yaml
rule: duration-above-cap
jobs: [speech/wav2vec]
reason: an epoch takes a day, and it cannot go on from within one yet
approver: example-org/speech
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
- Azure/azure-rest-api-specs#28754
- ministryofjustice/cloud-platform#2861
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.codeowners import platform_owners
from compiler.diagnostics import Finding, Related, Severity
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.project import Project

RULE = Rule(
    code="DEC243",
    severity=Severity.ERROR,
    stage="repository",
    sources=("Azure/azure-rest-api-specs#28754", "ministryofjustice/cloud-platform#2861"),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The waivers in force that no owner of policy has approved, as far as can be told."""
    del jobs
    rules, owners = project.policy.rules, platform_owners(project.policy)
    if rules is None or not owners:
        return
    known = {_bare(owner) for owner in owners}
    teams = any("/" in owner for owner in known)
    for waiver in project.policy.waivers.values():
        approver = _bare(waiver.value.approver)
        if approver in known or waiver.value.until < project.today:
            continue
        if teams and "/" not in approver and " " not in approver:
            continue
        yield finding(
            "foreign-approver",
            waiver.place("approver"),
            f"`{waiver.value.approver}` owns no policy; its owners are {', '.join(owners)}",
            "name the one of them who has approved it",
            (Related(rules.place("owners"), "the owners of policy"),),
        )


def _bare(handle: str) -> str:
    return handle.removeprefix("@").casefold()
