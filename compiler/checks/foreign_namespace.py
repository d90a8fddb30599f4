"""A team's namespace is one of Kubernetes' own, or of a controller.

## What it does
Reports `namespace` where it begins with `kube-`, or is `default`, `kueue-system`, `kubeflow`,
`flux-system`, `argocd` or `runwright-sync`; and where it is the `namespace` of a syncer.

## Why it is bad
The namespace would get the team's Pod Security level, its queues and its runs: system pods may be
refused, and whoever may see the team's runs sees the system's secrets. Kueue leaves its own
namespace and `kube-system` alone, so a run there would never be admitted. Nothing is written for
such a namespace.

## Example
```sh
sed -i 's/namespace: p-speech/namespace: kube-system/' policy/teams/speech.yaml
```

## Use instead
```sh
sed -i 's/namespace: p-speech/namespace: p-voices/' policy/teams/speech.yaml
```

## References
- kubernetes.io: concepts/overview/working-with-objects/namespaces
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Severity
from compiler.names import is_foreign
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.project import Project

RULE = Rule(
    code="OPS881",
    severity=Severity.ERROR,
    stage="repository",
    sources=("kubernetes.io: concepts/overview/working-with-objects/namespaces",),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The teams in somebody else's namespace."""
    taken = {
        setting.namespace
        for cluster in project.policy.clusters.values()
        if (sync := cluster.value.sync) is not None
        for setting in sync.named.values()
    }
    for team in project.policy.teams.values():
        if is_foreign(team.value.namespace) or team.value.namespace in taken:
            yield finding(
                "foreign-namespace",
                team.place("namespace"),
                f"the namespace {team.value.namespace} is not a team's to have",
                f"give the team one of its own, such as p-{team.name}",
            )
