"""More than a ResourceFlavor or a quota of Kueue can hold.

## What it does
Reports more than 8 `node_labels` or 8 `taints` of one kind of nodes, more than 64 kinds of nodes,
and more than 64 resources on a cluster whose quotas are written for Kueue; and more than 512 pairs
of the latter two.

## Why it is bad
Kueue refuses the object, and with it the syncer refuses all of `platform/`: no quota and no queue
is brought up to date any more.

## Example
```sh
sed -i 's/{node.example.com.pool: cpu}/{p: c, a: a, b: b, c: c, d: d, e: e, f: f, g: g, h: h}/' \\
  policy/clusters/west.yaml
```

## Use instead
```sh
sed -i 's/{node.example.com.pool: cpu}/{p: c, a: a, b: b, c: c, d: d, e: e, f: f, g: g}/' \\
  policy/clusters/west.yaml
```

## References
- sigs.k8s.io/kueue@v0.17.0 apis/kueue/v1beta2/resourceflavor_types.go
- sigs.k8s.io/kueue@v0.17.0 pkg/webhooks/clusterqueue_webhook.go
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Severity
from compiler.platform.flavors import (
    MOST_FLAVORS,
    MOST_LABELS,
    MOST_PAIRS,
    MOST_RESOURCES,
    MOST_TOLERATIONS,
    covered,
    flavors,
)
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.policy.cluster import Cluster
    from compiler.project import Project
    from compiler.repository import Document

RULE = Rule(
    code="OPS884",
    severity=Severity.ERROR,
    stage="repository",
    sources=(
        "sigs.k8s.io/kueue@v0.17.0 apis/kueue/v1beta2/resourceflavor_types.go",
        "sigs.k8s.io/kueue@v0.17.0 pkg/webhooks/clusterqueue_webhook.go",
    ),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """What Kueue would refuse, cluster by cluster."""
    for cluster in project.policy.clusters.values():
        value = cluster.value
        if value.admission == "ledger" or value.kueue_objects is False or not value.queues:
            continue
        yield from _of_nodes(cluster)
        kinds, resources = len(flavors(value)), len(covered(value))
        whole = (("accelerators",), "a quota has")
        if kinds > MOST_FLAVORS:
            yield _report(cluster, *whole, kinds, "flavors", MOST_FLAVORS)
        if resources > MOST_RESOURCES:
            yield _report(cluster, *whole, resources, "resources", MOST_RESOURCES)
        if kinds * resources > MOST_PAIRS and kinds <= MOST_FLAVORS and resources <= MOST_RESOURCES:
            amount = kinds * resources
            yield _report(cluster, *whole, amount, "pairs of flavor and resource", MOST_PAIRS)


def _of_nodes(cluster: Document[Cluster]) -> Iterator[Finding]:
    nodes = cluster.value.cpu_nodes
    rows = [] if nodes is None else [(("cpu_nodes",), nodes.node_labels, nodes.taints)]
    rows += [
        (("accelerators", name), entry.node_labels, entry.taints)
        for name, entry in (cluster.value.accelerators or {}).items()
    ]
    for route, labels, taints in rows:
        who = "a flavor has"
        if labels is not None and len(labels) > MOST_LABELS:
            route_ = (*route, "node_labels")
            yield _report(cluster, route_, who, len(labels), "node labels", MOST_LABELS)
        if taints is not None and len(taints) > MOST_TOLERATIONS:
            route_ = (*route, "taints")
            yield _report(cluster, route_, who, len(taints), "tolerations", MOST_TOLERATIONS)


def _report(
    cluster: Document[Cluster], route: tuple[str, ...], who: str, is_: int, what: str, most: int
) -> Finding:
    return finding(
        "beyond-kueue",
        cluster.place(*route, key=True),
        f"{is_} {what}; {who} at most {most}",
        "name those that tell these nodes from others, or keep Kueue's objects yourself"
        " (`kueue_objects: false`)",
    )
