"""A cluster has two syncers.

## What it does
Reports a second syncer under `sync:` of a cluster. The objects of the first one are written.

## Why it is bad
Both would apply and prune the same objects. What one has made the other takes for its own or for
somebody else's, and a run that the one prunes the other makes again: it starts twice.

## Example
```sh
printf '  flux: {url: "https://git.example.com/ml/training.git"}\n' >> policy/clusters/west.yaml
```

## Use instead
```sh
sed -i 's/^  argo_cd:/  flux:/' policy/clusters/west.yaml
```

## References
- rwlove/home-ops#13277
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Related, Severity
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.project import Project

RULE = Rule(
    code="OPS885",
    severity=Severity.ERROR,
    stage="repository",
    sources=("rwlove/home-ops#13277",),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The clusters with more than one."""
    for cluster in project.policy.clusters.values():
        sync = cluster.value.sync
        if sync is None:
            continue
        given = list(sync.named)
        for name in given[1:]:
            yield finding(
                "two-syncers",
                cluster.place("sync", name, key=True),
                f"{name} and {given[0]} would both sync {cluster.name}",
                "name the one that the cluster has",
                related=[Related(cluster.place("sync", given[0], key=True), "the other one")],
            )
