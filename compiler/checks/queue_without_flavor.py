"""A queue gives out nodes that have no ResourceFlavor.

## What it does
On clusters where Kueue admits runs, reports each queue that covers an accelerator without a
`flavor`, or runs without accelerators where `cpu_nodes` has none.

## Why it is bad
A ClusterQueue hands out quota by flavor. Nodes without one are not in any quota: a run that asks
for them is never admitted.

## Example
```sh
cp policy/clusters/west.yaml west.before
sed '/flavor: a100-mig/d' west.before > policy/clusters/west.yaml
rm west.before
```

## Use instead
```sh
grep -q 'flavor: a100-mig' policy/clusters/west.yaml
```

## References
- kubernetes-sigs/kueue: site/content/en/docs/concepts/resource_flavor.md
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Related, Severity
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.memory import Judged
    from compiler.policy.cluster import Cluster
    from compiler.project import Project
    from compiler.repository import Document

RULE = Rule(
    code="OPS861",
    severity=Severity.ERROR,
    stage="repository",
    sources=("kubernetes-sigs/kueue: site/content/en/docs/concepts/resource_flavor.md",),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """Queues over nodes that no flavor stands for."""
    for cluster in project.policy.clusters.values():
        if (cluster.value.admission or "kueue") == "kueue":
            yield from _queues(cluster)


def _queues(cluster: Document[Cluster]) -> Iterator[Finding]:
    catalogue, nodes = cluster.value.accelerators or {}, cluster.value.cpu_nodes
    for name, queue in (cluster.value.queues or {}).items():
        covered = catalogue if queue.accelerators is None else queue.accelerators
        for index, accelerator in enumerate(covered):
            entry = catalogue.get(accelerator)
            if entry is None or entry.flavor is not None:
                continue
            place = cluster.place("queues", name, key=True)
            if queue.accelerators is not None:
                place = cluster.place("queues", name, "accelerators", index)
            where = cluster.place("accelerators", accelerator, key=True)
            yield finding(
                "queue-without-flavor",
                place,
                f"the queue `{name}` gives out {accelerator}, which has no flavor",
                f"add `flavor:` with the name of a ResourceFlavor to {accelerator}",
                [Related(where, "the nodes")],
            )
        if nodes is not None and nodes.flavor is None and queue.cpu_only is not False:
            yield finding(
                "queue-without-flavor",
                cluster.place("queues", name, key=True),
                f"the queue `{name}` takes runs without accelerators, and their nodes have no"
                " flavor",
                "add `flavor:` to cpu_nodes, or `cpu_only: false` to the queue",
                [Related(cluster.place("cpu_nodes", key=True), "the nodes")],
            )
