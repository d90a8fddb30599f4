"""A cluster's syncer follows another branch than the one that publish writes.

## What it does
Compares `branch` under `sync:` of a cluster with `branch` of `[tool.compiler.publish]` in
`pyproject.toml`. Where the latter is not set, publish writes the remote's default branch, and
nothing is known here.

## Why it is bad
The syncer sees no run that is published. Worse is a branch that once was published: what has ended
since is still listed there, and where it has no tombstone yet, it is started again.

## Example
```sh
printf '\n[tool.compiler.publish]\nbranch = "deploy"\n' >> pyproject.toml
printf '    branch: main\n' >> policy/clusters/west.yaml
```

## Use instead
```sh
printf '\n[tool.compiler.publish]\nbranch = "deploy"\n' >> pyproject.toml
```

## References
- argoproj/argo-cd#3843
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Severity
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.project import Project

RULE = Rule(
    code="OPS886",
    severity=Severity.ERROR,
    stage="repository",
    sources=("argoproj/argo-cd#3843",),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The syncers of another branch."""
    written = project.repository.publish_branch
    if written is None:
        return
    for cluster in project.policy.clusters.values():
        sync = cluster.value.sync
        for name, setting in sync.named.items() if sync is not None else ():
            if setting.branch not in (None, written):
                yield finding(
                    "unfollowed-branch",
                    cluster.place("sync", name, "branch"),
                    f"publish writes the branch {written}, and {name} follows {setting.branch}",
                    f"write {written}, or leave it out",
                )
