"""Two teams of a cluster have the same namespace.

## What it does
Reports teams with one `namespace` on a cluster that both may use.

## Why it is bad
The syncer of each team deletes what its own folder does not list. In one namespace jobs of one
name would overwrite each other, and the Secrets of one team would be the other's too.

## Example
```sh
sed -i 's/p-speech/p-vision/' policy/teams/speech.yaml
```

## Use instead
```sh
sed -i 's/p-speech/p-voice/' policy/teams/speech.yaml
```

## References
- argoproj/argo-cd: docs/user-guide/resource_tracking.md
- tektoncd/pipeline#3202
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Related, Severity
from compiler.policy.team import Team
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.project import Project
    from compiler.repository import Document

RULE = Rule(
    code="DEC233",
    severity=Severity.ERROR,
    stage="repository",
    sources=("argoproj/argo-cd: docs/user-guide/resource_tracking.md", "tektoncd/pipeline#3202"),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The namespaces that two teams of a cluster share."""
    first: dict[tuple[str, str], Document[Team]] = {}
    for team in project.policy.teams.values():
        for cluster in team.value.clusters:
            earlier = first.setdefault((cluster, team.value.namespace), team)
            if earlier is not team:
                yield finding(
                    "shared-namespace",
                    team.place("namespace"),
                    f"on {cluster} the namespace {team.value.namespace} is that of the team"
                    f" {earlier.name} already",
                    "give each team a namespace of its own",
                    [Related(earlier.place("namespace"), "the other team")],
                )
                break
