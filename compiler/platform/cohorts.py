"""Quota as Kueue's Cohorts: one for each team, under its named cohort, under the cluster's root.

A team's Cohort holds what the team is guaranteed, and limits what it borrows. The root holds what
nobody is guaranteed. ClusterQueues have nothing of their own: all of a team's queues share the one
quota of the team.

With its accelerators a team is also guaranteed the part of their nodes' cores and memory that goes
with them. Kueue takes borrowed quota back only for a run whose whole request is within what its
team is guaranteed (pkg/scheduler/preemption/classical/hierarchical_preemption.go); without that
part no run with a CPU request ever would be. Cores and memory beyond it are borrowed without limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from compiler.platform.flavors import (
    API,
    CPU,
    MEMORY,
    Flavor,
    Object,
    counted,
    covered,
    flavors,
)

if TYPE_CHECKING:
    from compiler.policy.cluster import Cluster
    from compiler.quota.limits import ClusterLimits, Share

ROOT = "runwright"
# Quota of what policy does not count, for one flavor: more than any cluster has, and so little
# that the sum over thousands of teams stays within 64 bits.
PLENTY, PLENTY_OF_BYTES = "1000000", "1Pi"
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi")


def of_cohort(name: str) -> str:
    """The object name of a cohort that policy names."""
    return f"{ROOT}.cohort.{name}"


def of_team(name: str) -> str:
    """The object name of a team's Cohort."""
    return f"{ROOT}.team.{name}"


def objects(cluster: Cluster, limits: ClusterLimits, gone: Iterable[str] = ()) -> list[Object]:
    """The Cohorts of a cluster: the root, the named ones, and those of the teams.

    Teams in `gone` may no longer use the cluster, and still have runs there: what these use counts
    for the whole, and nobody is guaranteed anything.
    """
    kinds = flavors(cluster)
    made = [_cohort(ROOT, None, _root(cluster, kinds, limits))]
    for name, parent in sorted(limits.cohorts.items()):
        made.append(_cohort(of_cohort(name), _parent(parent), None))
    for team in sorted({*limits.shares, *gone}):
        groups = _team(cluster, kinds, limits.shares[team]) if team in limits.shares else None
        made.append(_cohort(of_team(team), _parent(limits.cohort_of.get(team)), groups))
    return made


def _parent(name: str | None) -> str:
    return ROOT if name is None else of_cohort(name)


def _cohort(name: str, parent: str | None, groups: list[Object] | None) -> Object:
    spec: Object = {}
    if parent is not None:
        spec["parentName"] = parent
    if groups is not None:
        spec["resourceGroups"] = groups
    return {"apiVersion": API, "kind": "Cohort", "metadata": {"name": name}, "spec": spec}


def _root(cluster: Cluster, kinds: Sequence[Flavor], limits: ClusterLimits) -> list[Object]:
    """All that is there, less what teams are guaranteed."""
    known = counted(cluster)

    def quota(flavor: Flavor, resource: str) -> Object:
        if resource not in known:
            return {"nominalQuota": plenty(resource)}
        if resource in (CPU, MEMORY):
            given = sum(_beside(flavor, resource, own) for own in limits.shares.values())
            left = max(0, flavor.amount(resource) - given)
        else:
            left = sum(
                limits.leftover(part.accelerator)
                for part in flavor.parts
                if part.resource == resource
            )
        return {"nominalQuota": text(resource, left)}

    return [group(kinds, covered(cluster), quota)]


def _team(
    cluster: Cluster, kinds: Sequence[Flavor], shares: Mapping[str, Share]
) -> list[Object] | None:
    """What a team is guaranteed, and may borrow; None for a team without a limit."""
    if all(share.borrowing is None for share in shares.values()):
        return None
    known = counted(cluster)

    def quota(flavor: Flavor, resource: str) -> Object:
        own = [(part, shares[part.accelerator]) for part in flavor.parts if part.accelerator]
        if resource not in known:
            holds = any(share.guaranteed for _, share in own)
            return {"nominalQuota": plenty(resource) if holds else "0"}
        if resource in (CPU, MEMORY):
            return {"nominalQuota": text(resource, _beside(flavor, resource, shares))}
        held = [share for part, share in own if part.resource == resource]
        return {
            "nominalQuota": text(resource, sum(share.guaranteed for share in held)),
            "borrowingLimit": text(resource, sum(share.borrowing or 0 for share in held)),
        }

    with_accelerators = [kind for kind in kinds if any(part.accelerator for part in kind.parts)]
    return [group(with_accelerators, covered(cluster), quota)]


def _beside(flavor: Flavor, resource: str, shares: Mapping[str, Share]) -> int:
    """The cores (in thousandths) or bytes that go with what a team is guaranteed of a flavor.

    Bytes are whole mebibytes, for people.
    """
    made = sum(
        part.beside(shares[part.accelerator].guaranteed, resource)
        for part in flavor.parts
        if part.accelerator in shares
    )
    return made if resource == CPU else made - made % 2**20


def group(
    kinds: Sequence[Flavor], resources: Sequence[str], quota: Callable[[Flavor, str], Object]
) -> Object:
    """A resource group: every flavor with a quota of every resource, in the same order.

    There is one for all, as the resources of a pod must come from one flavor: it is one node.
    """
    return {
        "coveredResources": list(resources),
        "flavors": [
            {
                "name": kind.name,
                "resources": [{"name": name, **quota(kind, name)} for name in resources],
            }
            for kind in kinds
        ],
    }


def plenty(resource: str) -> str:
    """The quota of a resource that policy does not count."""
    in_bytes = resource == "ephemeral-storage" or resource.startswith("hugepages-")
    return PLENTY_OF_BYTES if in_bytes else PLENTY


def text(resource: str, amount: int) -> str:
    """An exact amount as Kubernetes writes it: thousandths of cores, bytes, or devices."""
    if resource == CPU:
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    unit = 0
    if resource == MEMORY:
        while amount and amount % 1024 == 0 and unit + 1 < len(_BINARY):
            amount, unit = amount // 1024, unit + 1
    return f"{amount}{_BINARY[unit]}"
