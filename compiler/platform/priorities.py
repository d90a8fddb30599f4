"""Priority classes as Kueue knows them: they order the runs that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.platform.flavors import API, Object

if TYPE_CHECKING:
    from compiler.policy.cluster import Cluster


def objects(cluster: Cluster) -> list[Object]:
    """The WorkloadPriorityClasses of a cluster, from the highest to the lowest."""
    classes = sorted((cluster.priorities or {}).items(), key=lambda entry: (-entry[1], entry[0]))
    return [
        {
            "apiVersion": API,
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        for name, value in classes
    ]
