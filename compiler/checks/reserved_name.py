"""A team or a cluster has a name that the compiler needs itself.

## What it does
Reports the teams `base`, `platform`, `sync` and `ended`, and the cluster `ledger`.

## Why it is bad
Teams and clusters are folders of the rendered branch. With such a name a team's runs would lie
where the compiler keeps its bases, the platform's objects or its ledger.

## Example
```sh
cp policy/teams/speech.yaml policy/teams/base.yaml
sed -i -e 's/p-speech/p-base/' -e '/^quota:/,/^caps:/{/^caps:/!d}' policy/teams/base.yaml
```

## Use instead
```sh
cp policy/teams/speech.yaml policy/teams/basics.yaml
sed -i -e 's/p-speech/p-basics/' -e '/^quota:/,/^caps:/{/^caps:/!d}' policy/teams/basics.yaml
```

## References
- compiler/names.py: RESERVED_TEAMS
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Place, Severity
from compiler.names import RESERVED_CLUSTERS, RESERVED_TEAMS
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.project import Project

RULE = Rule(
    code="DEC232",
    severity=Severity.ERROR,
    stage="repository",
    sources=("compiler/names.py: RESERVED_TEAMS",),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The teams and clusters with names that the compiler needs."""
    policy = project.policy
    for team in policy.teams.values():
        if team.name in RESERVED_TEAMS:
            yield _report("team", team.name, team.path)
    for cluster in policy.clusters.values():
        if cluster.name in RESERVED_CLUSTERS:
            yield _report("cluster", cluster.name, cluster.path)


def _report(what: str, name: str, path: str) -> Finding:
    return finding(
        "reserved-name",
        Place.start(path),
        f"no {what} can be called {name}: the compiler has a folder of this name",
        f"rename the file, such as {path.removesuffix('.yaml')}-{what}.yaml",
    )
