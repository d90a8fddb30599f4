"""Two levels of a topology are one label.

## What it does
Reports a level under `topology` whose node label is already the one of a wider level.

## Why it is bad
Kueue takes a Topology only if its levels differ. The syncer can then apply nothing of the
platform's folder, and no new queue or quota reaches the cluster.

## Example
```sh
sed -i 's|rack: {label: .*}|rack: {label: topology.example.com/block}|' policy/clusters/west.yaml
```

## Use instead
```sh
sed -i 's|rack: {label: .*}|rack: {label: topology.example.com/row}|' policy/clusters/west.yaml
```

## References
- kubernetes-sigs/kueue: apis/kueue/v1beta2/topology_types.go, TopologySpec
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
    code="OPS867",
    severity=Severity.ERROR,
    stage="repository",
    sources=("kubernetes-sigs/kueue: apis/kueue/v1beta2/topology_types.go, TopologySpec",),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The levels that repeat a label."""
    for cluster in project.policy.clusters.values():
        first: dict[str, str] = {}
        for name, level in (cluster.value.topology or {}).items():
            wider = first.setdefault(level.label, name)
            if wider != name:
                yield finding(
                    "repeated-topology-level",
                    cluster.place("topology", name, "label"),
                    f"`{level.label}` is the label of `{wider}` already",
                    f"write the label that the nodes of one {name} share, or take the level out",
                    [Related(cluster.place("topology", wider, "label"), "the wider level")],
                )
