"""A team may borrow more than there is to lend.

## What it does
Reports `borrowing` above what others are guaranteed of the accelerator on the cluster, together
with what nobody has been guaranteed.

## Why it is bad
The sum promises runs that can never start. Where one team is guaranteed everything, or the cluster
was shrunk since, there is nothing left to borrow at all.

## Example
```yaml
# policy/teams/speech.yaml
namespace: p-speech
owners: [lee-speech]
clusters: [west, east]
default_cluster: east
quota:
  west: {A100-80GB: {guaranteed: 16, borrowing: 40}}
  east: {MI300X: {guaranteed: 32}, A100-80GB: {guaranteed: 32}}
caps: {nodes: 4, duration: 4d}
claims: [datasets, checkpoints, logs]
defaults: {priority: normal, stop: {grace: 5m}}
```

## Use instead
```yaml
# policy/teams/speech.yaml
namespace: p-speech
owners: [lee-speech]
clusters: [west, east]
default_cluster: east
quota:
  west: {A100-80GB: {guaranteed: 16, borrowing: 32}}
  east: {MI300X: {guaranteed: 32}, A100-80GB: {guaranteed: 32}}
caps: {nodes: 4, duration: 4d}
claims: [datasets, checkpoints, logs]
defaults: {priority: normal, stop: {grace: 5m}}
```

## References
- kubernetes-sigs/kueue: site/content/en/docs/concepts/cohort.md
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
    code="OPS864",
    severity=Severity.WARNING,
    stage="repository",
    sources=("kubernetes-sigs/kueue: site/content/en/docs/concepts/cohort.md",),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """Borrowing that nothing stands behind."""
    policy = project.policy
    for name, limits in limits_of(policy).items():
        for team, own in limits.shares.items():
            for accelerator, share in own.items():
                given = sum(limits.guaranteed(accelerator).values())
                if not share.borrowing or given > limits.capacity[accelerator]:
                    continue
                there = given - share.guaranteed + limits.leftover(accelerator)
                if share.borrowing <= there:
                    continue
                where = policy.clusters[name].place("accelerators", accelerator, "nodes")
                said = f"only {there} are" if there > 1 else "one is" if there else "none is"
                yield finding(
                    "nobody-to-borrow-from",
                    policy.teams[team].place("quota", name, accelerator, "borrowing"),
                    f"{share.borrowing} {accelerator} may be borrowed on {name}, and {said} there"
                    " to lend",
                    f"write {there} or less" if there else "take it out",
                    [Related(where, f"{limits.capacity[accelerator]} accelerators in all")],
                )
