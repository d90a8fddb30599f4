"""Two accelerators that no label tells apart.

## What it does
Reports an accelerator with the `resource` of another one where their `node_labels` have no key with
two different values.

## Why it is bad
Pods ask for a resource and for labels, not for a name: a run that wants one of the two may get the
other. Under Kueue it is then counted for one kind of nodes and runs on the other, and from then on
no quota is right.

## Example
```sh
sed -i '/node_labels: {nvidia.com.gpu.product: NVIDIA-A100/d' policy/clusters/west.yaml
```

## Use instead
```sh
sed -i 's/NVIDIA-A100-SXM4-80GB/NVIDIA-A100-PCIE-80GB/' policy/clusters/west.yaml
```

## References
- kubernetes-sigs/kueue#58
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Related, Severity
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.policy.cluster import Accelerator
    from compiler.project import Project

RULE = Rule(
    code="OPS883",
    severity=Severity.WARNING,
    stage="repository",
    sources=("kubernetes-sigs/kueue#58",),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The accelerators that may be mistaken for another one, each once."""
    for cluster in project.policy.clusters.values():
        told: set[str] = set()
        for (name, one), (other, two) in combinations(
            (cluster.value.accelerators or {}).items(), 2
        ):
            if one.resource != two.resource or _differ(one, two) or other in told:
                continue
            told.add(other)
            yield finding(
                "indistinct-nodes",
                cluster.place("accelerators", other, "node_labels", key=True),
                f"no node label tells {other} from {name}, and both are {one.resource}",
                "give both `node_labels` with the same key and different values, such as"
                " nvidia.com/gpu.product",
                [Related(cluster.place("accelerators", name, key=True), "the other one")],
            )


def _differ(one: Accelerator, other: Accelerator) -> bool:
    first, second = one.node_labels or {}, other.node_labels or {}
    return any(key in second and second[key] != value for key, value in first.items())
