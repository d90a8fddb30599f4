"""Nobody owns policy.

## What it does
Reports an empty `owners` in `policy/rules.yaml`, and policy without `owners` (or without the file)
in a repository with a `CODEOWNERS`. `runwright codeowners` writes no such file.

## Why it is bad
A host asks nobody about paths without an owner: whoever may merge anything could change caps,
quotas, the bases and what is published, and take the last owner out first.

## Example
```sh
sed -i 's/^owners: .*/owners: []/' policy/rules.yaml
rm -rf policy/waivers jobs/*
```

## Use instead
```sh
sed -i 's/^owners: .*/owners: [example-org\\/platform]/' policy/rules.yaml
```

## References
- rubyatscale/code_ownership#9
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.codeowners import PLACES, is_readable, platform_owners
from compiler.diagnostics import Finding, Place, Severity
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.memory import Judged
    from compiler.project import Project

RULE = Rule(
    code="OPS895",
    severity=Severity.ERROR,
    stage="repository",
    sources=("rubyatscale/code_ownership#9",),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The place where owners are missing."""
    policy = project.policy
    if platform_owners(policy) or not is_readable(policy):
        return
    rules = policy.rules
    written = rules is not None and rules.value.owners is not None
    asked = any(project.repository.surroundings.get(at) is not None for at in PLACES.values())
    if not (written or asked):
        return
    if rules is None:
        place, remedy = Place.start("policy/rules.yaml"), "add policy/rules.yaml with `owners:`"
    elif written:
        place, remedy = rules.place("owners"), "write who approves what is no team's"
    else:
        place, remedy = Place.start(rules.path), "add `owners:`"
    yield finding(
        "policy-without-owners",
        place,
        "nobody owns policy/, base/ and overlays/, so anybody may approve what changes them",
        f"{remedy}, such as owners: [example-org/platform]",
    )
