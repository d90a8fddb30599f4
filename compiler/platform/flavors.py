"""The kinds of nodes of a cluster, as Kueue's ResourceFlavors know them.

A flavor stands for the nodes of an accelerator, or for the nodes without any. It adds its labels
to the pods that it admits, as a node selector, and its tolerations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from compiler.site import free, toleration

if TYPE_CHECKING:
    from compiler.policy.cluster import Accelerator, Cluster, CpuNodes, Node, Toleration

Object = dict[str, Any]
CPU, MEMORY = "cpu", "memory"
# Served since 0.15 (config/components/crd/bases of each version of sigs.k8s.io/kueue).
API = "kueue.x-k8s.io/v1beta2"
FIRST_VERSION = (0, 15)
# The limits of a ResourceFlavor and of a resource group (apis/kueue/v1beta2, `MaxProperties` and
# `MaxItems`).
MOST_LABELS, MOST_TOLERATIONS = 8, 8
MOST_FLAVORS, MOST_RESOURCES, MOST_PAIRS = 64, 64, 512
# Flavor of the nodes without accelerators, where policy gives it no name.
CPU_FLAVOR = "cpu"
_HOST = "kubernetes.io/hostname"
TOPOLOGY = "runwright"


@dataclass(frozen=True, slots=True)
class Part:
    """Some nodes of a flavor: those of one accelerator, or (empty name) those without any."""

    accelerator: str
    resource: str
    per_node: int
    nodes: int
    cpu: int
    memory: int

    def amount(self, resource: str) -> int:
        """What all of these nodes offer to jobs: thousandths of cores, bytes, or devices."""
        if resource == CPU:
            return self.cpu * self.nodes
        if resource == MEMORY:
            return self.memory * self.nodes
        return self.per_node * self.nodes if resource == self.resource else 0

    def beside(self, count: int, resource: str) -> int:
        """The cores (in thousandths) or bytes that go with `count` accelerators of these nodes."""
        whole = self.cpu if resource == CPU else self.memory
        return count * whole // self.per_node


@dataclass(frozen=True, slots=True)
class Flavor:
    """A ResourceFlavor, and the nodes that it stands for."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    taints: Sequence[Toleration] = ()
    parts: tuple[Part, ...] = ()

    def amount(self, resource: str) -> int:
        """What all nodes of the flavor offer to jobs."""
        return sum(part.amount(resource) for part in self.parts)


def flavors(cluster: Cluster) -> list[Flavor]:
    """The flavors of a cluster: that of the nodes without accelerators first, the others as the
    catalogue has them. Accelerators of one flavor name are one flavor, with the first one's labels.
    """
    made: dict[str, Flavor] = {}
    nodes = cluster.cpu_nodes
    if nodes is not None:
        part = _part("", "", 1, nodes.nodes, nodes.node)
        _add(made, nodes.flavor or CPU_FLAVOR, nodes, part)
    for name, entry in (cluster.accelerators or {}).items():
        part = _part(name, entry.resource, entry.per_node, entry.nodes, entry.node)
        _add(made, flavor_name(name, entry), entry, part)
    return list(made.values())


def flavor_name(accelerator: str, entry: Accelerator) -> str:
    """The flavor of an accelerator: policy's, or else its own name as Kubernetes can have it."""
    if entry.flavor is not None:
        return entry.flavor
    return re.sub(r"[^a-z0-9]+", "-", accelerator.lower()).strip("-")


def _part(accelerator: str, resource: str, per_node: int, count: int, node: Node) -> Part:
    cpu, memory = free(node, CPU) * 1000, free(node, MEMORY)
    return Part(
        accelerator,
        resource,
        per_node,
        count,
        max(0, cpu.numerator // cpu.denominator),
        max(0, memory.numerator // memory.denominator),
    )


def _add(made: dict[str, Flavor], name: str, nodes: Accelerator | CpuNodes, part: Part) -> None:
    there = made.get(name) or Flavor(name, nodes.node_labels or {}, nodes.taints or ())
    made[name] = Flavor(name, there.labels, there.taints, (*there.parts, part))


def covered(cluster: Cluster) -> list[str]:
    """All resources that have quota on a cluster: cores and memory first."""
    resources = [CPU, MEMORY, *(e.resource for e in (cluster.accelerators or {}).values())]
    for queue in (cluster.queues or {}).values():
        resources += queue.resources or ()
    return list(dict.fromkeys(resources))


def counted(cluster: Cluster) -> set[str]:
    """The resources that policy counts: cores, memory and accelerators."""
    return {CPU, MEMORY, *(entry.resource for entry in (cluster.accelerators or {}).values())}


def served(version: str | None) -> bool:
    """Whether this version of Kueue (None: any) serves the objects that are written here."""
    if version is None:
        return True
    numbers = [int(part) for part in re.findall(r"[0-9]+", version)[:2]]
    return (*numbers, 0)[:2] >= FIRST_VERSION


def objects(cluster: Cluster) -> list[Object]:
    """The ResourceFlavors of a cluster, and the Topology of those with accelerators."""
    levels = [level.label for level in (cluster.topology or {}).values()]
    made: list[Object] = []
    if levels:
        # Without the nodes themselves as its last level, Kueue would see room in a rack where no
        # single node has any.
        spread = [*(label for label in levels if label != _HOST), _HOST]
        made.append(
            {
                "apiVersion": API,
                "kind": "Topology",
                "metadata": {"name": TOPOLOGY},
                "spec": {"levels": [{"nodeLabel": label} for label in spread]},
            }
        )
    for flavor in flavors(cluster):
        # Written also where there are none: of a spec whose last field is taken away, server-side
        # apply leaves null, which the API server refuses.
        spec: Object = {"nodeLabels": dict(flavor.labels)}
        if flavor.taints:
            spec["tolerations"] = [toleration(taint) for taint in flavor.taints]
        if levels and flavor.labels and any(part.accelerator for part in flavor.parts):
            spec["topologyName"] = TOPOLOGY
        made.append(
            {
                "apiVersion": API,
                "kind": "ResourceFlavor",
                "metadata": {"name": flavor.name},
                "spec": spec,
            }
        )
    return made
