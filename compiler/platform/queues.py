"""The queues that jobs name: a LocalQueue in the team's namespace over a ClusterQueue of the team.

A queue of policy is one ClusterQueue for each team that may name it, so that a run counts for its
own team whatever its queue, and only the team's namespace may use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from compiler.platform.cohorts import group, of_team
from compiler.platform.flavors import API, CPU, MEMORY, Flavor, Object, flavors

if TYPE_CHECKING:
    from compiler.policy.cluster import Cluster, Queue
    from compiler.policy.team import Team

# A LocalQueue cannot be moved to another ClusterQueue, only made anew. Runs that are admitted do
# not notice; those that wait go on waiting in the new one.
MADE_ANEW = {
    "kustomize.toolkit.fluxcd.io/force": "enabled",
    "argocd.argoproj.io/sync-options": "Force=true,Replace=true",
}


def named(cluster: Cluster, team: Team) -> dict[str, Queue]:
    """The queues of a cluster that a team may name."""
    return {
        name: queue
        for name, queue in (cluster.queues or {}).items()
        if team.queues is None or name in team.queues
    }


def cluster_queue(queue: Queue, team: str) -> str:
    """The ClusterQueue of a team behind a queue: a team's name has no dot, so no two are alike."""
    return f"{queue.cluster_queue}.{team}"


def objects(cluster: Cluster, name: str, team: Team, namespaces: Sequence[str]) -> list[Object]:
    """The ClusterQueues and LocalQueues of a team; the latter in each of its namespaces.

    Queues with the same ClusterQueue share what they cover. One that covers nothing is left out.
    """
    behind: dict[str, list[Queue]] = {}
    locals_: list[Object] = []
    for queue_name, queue in named(cluster, team).items():
        if not _kinds(cluster, [queue]):
            continue
        target = cluster_queue(queue, name)
        behind.setdefault(target, []).append(queue)
        locals_ += [_local_queue(queue_name, namespace, target) for namespace in namespaces]
    made = [
        _cluster_queue(cluster, target, name, queues, namespaces)
        for target, queues in sorted(behind.items())
    ]
    return made + locals_


def _local_queue(name: str, namespace: str, target: str) -> Object:
    return {
        "apiVersion": API,
        "kind": "LocalQueue",
        "metadata": {"name": name, "namespace": namespace, "annotations": dict(MADE_ANEW)},
        "spec": {"clusterQueue": target},
    }


def _cluster_queue(
    cluster: Cluster, target: str, team: str, queues: Sequence[Queue], namespaces: Sequence[str]
) -> Object:
    names = {
        "key": "kubernetes.io/metadata.name",
        "operator": "In",
        "values": list(namespaces),
    }
    return {
        "apiVersion": API,
        "kind": "ClusterQueue",
        "metadata": {"name": target},
        "spec": {
            "cohortName": of_team(team),
            "namespaceSelector": {"matchExpressions": [names]},
            "queueingStrategy": "BestEffortFIFO",
            # What a team is guaranteed it gets back from whoever borrowed it; nothing else stops
            # a run that has been admitted.
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "Never"},
            "resourceGroups": [
                group(
                    _kinds(cluster, queues),
                    _resources(cluster, queues),
                    lambda flavor, resource: {"nominalQuota": "0"},
                )
            ],
        },
    }


def _kinds(cluster: Cluster, queues: Iterable[Queue]) -> list[Flavor]:
    """The flavors that some queues give out."""
    wanted: set[str] = set()
    for queue in queues:
        wanted |= set(_accelerators(cluster, queue))
        if queue.cpu_only is not False:
            wanted.add("")
    return [
        kind for kind in flavors(cluster) if any(part.accelerator in wanted for part in kind.parts)
    ]


def _accelerators(cluster: Cluster, queue: Queue) -> list[str]:
    known = cluster.accelerators or {}
    return [n for n in known if queue.accelerators is None or n in queue.accelerators]


def _resources(cluster: Cluster, queues: Iterable[Queue]) -> list[str]:
    """The resources that some queues cover."""
    found = [CPU, MEMORY]
    known = cluster.accelerators or {}
    for queue in queues:
        found += [known[name].resource for name in _accelerators(cluster, queue)]
        found += queue.resources or ()
    return list(dict.fromkeys(found))
