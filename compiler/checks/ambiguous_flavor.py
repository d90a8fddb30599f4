"""One flavor stands for two kinds of nodes.

## What it does
Reports nodes whose `flavor` is that of others with other `node_labels` or other `taints`. Nodes
without `flavor` have the accelerator's name in lower case, or `cpu`.

## Why it is bad
A ResourceFlavor has one set of labels and tolerations. Runs that are admitted for the one kind of
nodes would be sent to the other, and quota of the one is spent on the other.

## Example
```sh
sed -i 's/flavor: a100$/flavor: h100/' policy/clusters/west.yaml
```

## Use instead
```sh
sed -i 's/flavor: a100$/flavor: a100-80gb/' policy/clusters/west.yaml
```

## References
- kubernetes-sigs/kueue#59
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Place, Related, Severity
from compiler.platform.flavors import CPU_FLAVOR, flavor_name
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.policy.cluster import Accelerator, Cluster, CpuNodes
    from compiler.project import Project
    from compiler.repository import Document

RULE = Rule(
    code="OPS882",
    severity=Severity.ERROR,
    stage="repository",
    sources=("kubernetes-sigs/kueue#59",),
)
Nodes = tuple[str, "Accelerator | CpuNodes", Place]


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The nodes whose flavor is already that of others, on clusters with Kueue."""
    for cluster in project.policy.clusters.values():
        if cluster.value.admission == "ledger":
            continue
        first: dict[str, Nodes] = {}
        for name, entry, place in _nodes(cluster):
            earlier = first.setdefault(name, (name, entry, place))
            if _selects(earlier[1]) != _selects(entry):
                yield finding(
                    "ambiguous-flavor",
                    place,
                    f"the flavor {name} is also that of nodes with other labels or taints",
                    "give these nodes a flavor of their own",
                    [Related(earlier[2], "the other nodes")],
                )


def _nodes(cluster: Document[Cluster]) -> Iterator[Nodes]:
    nodes = cluster.value.cpu_nodes
    if nodes is not None:
        yield nodes.flavor or CPU_FLAVOR, nodes, cluster.place("cpu_nodes", "flavor", key=True)
    for name, entry in (cluster.value.accelerators or {}).items():
        place = cluster.place("accelerators", name, "flavor", key=True)
        yield flavor_name(name, entry), entry, place


def _selects(nodes: Accelerator | CpuNodes) -> tuple[object, object]:
    return nodes.node_labels or {}, nodes.taints or []
