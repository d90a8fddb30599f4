"""The system is said to take all of a node.

## What it does
Compares `reserved_cpu`, `reserved_memory` and `reserved_pods` of each kind of node with what the
node has. It is told once, in the cluster's file, and not again of every job.

## Why it is bad
No pod of a job would fit there. Most often a unit is wrong, or the reserve of all nodes stands
where that of one node is meant.

## Example
```sh
sed -i 's/reserved_cpu: 2,/reserved_cpu: 200,/' policy/clusters/west.yaml
```

## Use instead
```sh
sed -i 's/reserved_cpu: 2,/reserved_cpu: 3,/' policy/clusters/west.yaml
```

## References
- kubernetes.io: tasks/administer-cluster/reserve-compute-resources
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.amounts import amount
from compiler.diagnostics import Finding, Related, Severity
from compiler.policy.cluster import Node
from compiler.rules import Rule, finding
from compiler.site import POD_LIMIT, free, free_pods

if TYPE_CHECKING:
    from compiler.memory import Judged
    from compiler.policy.cluster import Cluster
    from compiler.project import Project
    from compiler.repository import Document

RULE = Rule(
    code="OPS866",
    severity=Severity.ERROR,
    stage="repository",
    sources=("kubernetes.io: tasks/administer-cluster/reserve-compute-resources",),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The nodes on which nothing is left for jobs."""
    for cluster in project.policy.clusters.values():
        cpu_nodes = cluster.value.cpu_nodes
        if cpu_nodes is not None:
            yield from _of(cluster, cpu_nodes.node, ("cpu_nodes", "node"))
        for name, entry in (cluster.value.accelerators or {}).items():
            yield from _of(cluster, entry.node, ("accelerators", name, "node"))


def _of(cluster: Document[Cluster], node: Node, at: tuple[str, ...]) -> Iterator[Finding]:
    reserved = {"cpu": node.reserved_cpu, "memory": node.reserved_memory}
    offered = {"cpu": node.cpu, "memory": node.memory}
    for resource, less in reserved.items():
        if less is not None and free(node, resource) <= 0:
            taken, whole = amount(resource, less.value), amount(resource, offered[resource].value)
            yield _finding(cluster, at, resource, taken, whole)
    if free_pods(node) <= 0:
        yield _finding(cluster, at, "pods", f"{node.reserved_pods} pods", f"{_pods(node)} pods")


def _pods(node: Node) -> int:
    return node.pods or POD_LIMIT


def _finding(
    cluster: Document[Cluster], at: tuple[str, ...], what: str, taken: str, whole: str
) -> Finding:
    return finding(
        "nothing-left-on-a-node",
        cluster.place(*at, f"reserved_{what}"),
        f"the system is said to take {taken} of each node, which has {whole}",
        "write what the system's pods take on one node; less than it has",
        [Related(cluster.place(*at, what), "what a node has")],
    )
