"""More accelerators are guaranteed than the cluster has.

## What it does
Adds up what all teams are guaranteed of an accelerator on a cluster, and reports a sum above nodes
times accelerators of a node. It stands at the largest share; the others are named beside it.

## Why it is bad
A guarantee that cannot be kept is none. Kueue admits what the quota allows and counts no nodes: the
last team's pods stay pending while its workload counts as running.

## Example
```yaml
# policy/teams/nlp.yaml
namespace: p-nlp
owners: [kim-nlp]
clusters: [west]
quota:
  west:
    H100: {guaranteed: 150}
defaults: {priority: normal, stop: {grace: 5m}}
```

## Use instead
```yaml
# policy/teams/nlp.yaml
namespace: p-nlp
owners: [kim-nlp]
clusters: [west]
quota:
  west:
    H100: {guaranteed: 112, borrowing: 32}
    MIG-1g.10gb: {guaranteed: 16}
defaults: {priority: normal, stop: {grace: 5m}}
```

## References
- kubernetes-sigs/kueue: site/content/en/docs/concepts/cluster_queue.md
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Related, Severity
from compiler.quota.limits import limits_of
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.memory import Judged
    from compiler.project import Project

RULE = Rule(
    code="OPS860",
    severity=Severity.ERROR,
    stage="repository",
    sources=("kubernetes-sigs/kueue: site/content/en/docs/concepts/cluster_queue.md",),
)
_NAMED = 5


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """Guarantees whose sum no cluster could keep."""
    policy = project.policy
    for name, limits in limits_of(policy).items():
        cluster = policy.clusters[name]
        for accelerator in cluster.value.accelerators or {}:
            given, has = limits.guaranteed(accelerator), limits.capacity[accelerator]
            total = sum(given.values())
            if total <= has:
                continue
            first, *others = sorted(given, key=lambda team: (-given[team], team))
            places = {
                team: policy.teams[team].place("quota", name, accelerator, "guaranteed")
                for team in (first, *others)
            }
            where = cluster.place("accelerators", accelerator, "nodes")
            related = [Related(where, f"{has} are there")]
            related += [
                Related(places[team], f"{given[team]} for {team}") for team in others[:_NAMED]
            ]
            rest = has - (total - given[first])
            remedy = f"write {rest} or less" if rest > 0 else "lower the shares of several teams"
            yield finding(
                "quota-above-nodes",
                places[first],
                f"{total} {accelerator} are guaranteed to teams on {name}, which has {has}",
                remedy,
                related,
            )
