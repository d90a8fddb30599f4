"""A cohort is part of itself.

## What it does
Reports cohorts whose parents lead back to them, once for each circle, at the `parent` that closes
it.

## Why it is bad
Kueue stops admitting through every ClusterQueue below such a circle. Nothing says so where the jobs
are.

## Example
```sh
cat >> policy/clusters/west.yaml <<'END'
cohorts:
  language: {parent: research}
  research: {parent: language}
END
```

## Use instead
```sh
cat >> policy/clusters/west.yaml <<'END'
cohorts:
  language: {parent: research}
  research: {}
END
```

## References
- kubernetes-sigs/kueue: site/content/en/docs/concepts/cohort.md
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Severity
from compiler.quota.limits import circles
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.memory import Judged
    from compiler.project import Project

RULE = Rule(
    code="OPS862",
    severity=Severity.ERROR,
    stage="repository",
    sources=("kubernetes-sigs/kueue: site/content/en/docs/concepts/cohort.md",),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The circles among a cluster's cohorts."""
    for cluster in project.policy.clusters.values():
        cohorts, told = cluster.value.cohorts or {}, set[str]()
        for name in circles(cluster.value):
            if name in told:
                continue
            way, above = [name], cohorts[name].parent
            while above is not None and above != name:
                way.append(above)
                above = cohorts[above].parent
            told |= set(way)
            last = way[-1]
            around = "itself" if len(way) == 1 else " → ".join([*way, name])
            yield finding(
                "circular-cohorts",
                cluster.place("cohorts", last, "parent"),
                f"the cohort `{name}` is part of {around}",
                "take this `parent` out: a cohort without one is part of the whole cluster",
            )
