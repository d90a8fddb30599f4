"""What surrounds a run: its cluster, its team, its images, and the lines where policy says so."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as MappingType
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from compiler.digests import OPERATIONAL_ENV
from compiler.images import Image, Lock
from compiler.model import Image as RunImage
from compiler.policy.cluster import Accelerator, Cluster, Node, Toleration
from compiler.policy.rules import RulesPolicy
from compiler.policy.team import Team
from compiler.repository import Document

if TYPE_CHECKING:
    from compiler.base import Base


class Site(Struct, frozen=True):
    """Everything a check or a back end may ask about the surroundings of one run.

    `backend` is the name of the back end that the cluster's policy chooses for this run. Documents
    know the places of their fields: `site.cluster.place("queues", "research")`. `base` is what the
    run will be merged over, None where there is none that could be read. `changed_images` are those
    whose folder is no longer what they were built from.
    """

    root: Path
    cluster: Document[Cluster]
    team: Document[Team]
    images: MappingType[str, Document[Image]]
    lock: Document[Lock] | None
    rules: Document[RulesPolicy] | None
    backend: str
    base: Base | None = None
    changed_images: frozenset[str] = frozenset()

    def accelerator(self, name: str) -> Accelerator | None:
        """The catalogue's entry of an accelerator, or None."""
        return (self.cluster.value.accelerators or {}).get(name)

    def node(self, accelerator: str | None) -> tuple[Node, int] | None:
        """What one node with this accelerator (or without any) offers, and how many there are."""
        if accelerator is None:
            cpu = self.cluster.value.cpu_nodes
            return (cpu.node, cpu.nodes) if cpu else None
        entry = self.accelerator(accelerator)
        return (entry.node, entry.nodes) if entry else None

    @property
    def operational_env(self) -> tuple[str, ...]:
        """The patterns of environment variables that do not count as training."""
        return operational_env(self.rules)

    @property
    def kueue(self) -> bool:
        """Whether Kueue admits the runs of this cluster."""
        return (self.cluster.value.admission or "kueue") == "kueue"


def free(node: Node, resource: str) -> Fraction:
    """What a node has for jobs of `cpu` or `memory`: allocatable, less what is reserved."""
    if resource == "cpu":
        whole, reserved = node.cpu, node.reserved_cpu
    else:
        whole, reserved = node.memory, node.reserved_memory
    return whole.value - (reserved.value if reserved is not None else 0)


# The kubelet's own --max-pods.
POD_LIMIT = 110


def free_pods(node: Node) -> int:
    """How many pods of jobs a node may run beside those of the system."""
    return (node.pods or POD_LIMIT) - (node.reserved_pods or 0)


def toleration(taint: Toleration) -> dict[str, str]:
    """A taint of policy as a pod tolerates it."""
    entry = {"key": taint.key, "operator": "Exists" if taint.value is None else "Equal"}
    if taint.value is not None:
        entry["value"] = taint.value
    if taint.effect is not None:
        entry["effect"] = taint.effect
    return entry


def with_host(repository: str) -> str:
    """A repository with its host; one that names none is on Docker Hub, for every runtime."""
    host, slash, _ = repository.partition("/")
    if slash and ("." in host or ":" in host or host == "localhost"):
        return repository
    return f"docker.io/{repository}" if slash else f"docker.io/library/{repository}"


def registry_of(image: RunImage, site: Site) -> tuple[str, str | None] | None:
    """The catalogue's registry that an image comes from, with its pull secret; None if none."""
    registries = site.cluster.value.registries or {}
    best = listed_registry(image.registry, registries)
    return None if best is None else (best, registries[best].pull_secret)


def listed_registry(repository: str, registries: Iterable[str]) -> str | None:
    """The longest of the registries that a repository is below; None if it is below none."""
    whole = f"{with_host(repository)}/"
    below = (name for name in registries if whole.startswith(name.rstrip("/") + "/"))
    return max(below, key=len, default=None)


def operational_env(rules: Document[RulesPolicy] | None) -> tuple[str, ...]:
    """The patterns of environment variables that do not count as training."""
    written = rules.value.operational_env if rules is not None else None
    return OPERATIONAL_ENV if written is None else tuple(written)
