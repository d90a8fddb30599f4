"""A cap per run that is above all that the team may hold.

## What it does
Reports `caps.accelerators` above every quota of the team, guaranteed and borrowed together, on all
clusters that it may use. A cluster without any quota bounds nothing, so then nothing is reported.

## Why it is bad
The cap says that one run may have so many, and no run of that size would ever start. Somebody plans
with it.

## Example
```yaml
# policy/teams/nlp.yaml
namespace: p-nlp
owners: [kim-nlp]
clusters: [west]
quota:
  west: {H100: {guaranteed: 96, borrowing: 32}}
caps: {accelerators: 160}
defaults: {priority: normal, stop: {grace: 5m}}
```

## Use instead
```yaml
# policy/teams/nlp.yaml
namespace: p-nlp
owners: [kim-nlp]
clusters: [west]
quota:
  west: {H100: {guaranteed: 112, borrowing: 32}, MIG-1g.10gb: {guaranteed: 16}}
caps: {accelerators: 64}
defaults: {priority: normal, stop: {grace: 5m}}
```

## References
- kubernetes-sigs/kueue: site/content/en/docs/concepts/cluster_queue.md
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Related, Severity
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.memory import Judged
    from compiler.project import Project

RULE = Rule(
    code="OPS863",
    severity=Severity.WARNING,
    stage="repository",
    sources=("kubernetes-sigs/kueue: site/content/en/docs/concepts/cluster_queue.md",),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """Caps that no run can reach."""
    for team in project.policy.teams.values():
        caps, quota = team.value.caps, team.value.quota or {}
        if caps is None or caps.accelerators is None or not set(team.value.clusters) <= set(quota):
            continue
        most = max(
            (
                entry.guaranteed + (entry.borrowing or 0)
                for name in team.value.clusters
                for entry in quota[name].values()
            ),
            default=0,
        )
        if most and caps.accelerators > most:
            yield finding(
                "cap-above-quota",
                team.place("caps", "accelerators"),
                f"a run may have {caps.accelerators} accelerators, and the team can get {most} of"
                " any kind at the most",
                f"write {most} or less, or raise a quota",
                [Related(team.place("quota", key=True), "the team's quota")],
            )
