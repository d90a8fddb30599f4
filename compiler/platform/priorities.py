"""Priority classes: as Kueue knows them they order the runs that wait, else the pods that do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.platform.flavors import API, Object
from compiler.platform.queues import MADE_ANEW

if TYPE_CHECKING:
    from compiler.policy.cluster import Cluster


def objects(cluster: Cluster) -> list[Object]:
    """The WorkloadPriorityClasses of a cluster, from the highest to the lowest."""
    return [
        {
            "apiVersion": API,
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        for name, value in _classes(cluster)
    ]


def of_pods(cluster: Cluster) -> list[Object]:
    """The PriorityClasses of a cluster whose pods name them, from the highest to the lowest.

    They order pods that wait and never stop one that runs, as under Kueue. The API refuses to
    change one, so that another value makes it anew; pods keep the value that they were made with.
    """
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name, "annotations": dict(MADE_ANEW)},
            "value": value,
            "preemptionPolicy": "Never",
        }
        for name, value in _classes(cluster)
    ]


def _classes(cluster: Cluster) -> list[tuple[str, int]]:
    return sorted((cluster.priorities or {}).items(), key=lambda entry: (-entry[1], entry[0]))
