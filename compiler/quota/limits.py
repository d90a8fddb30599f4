"""What a cluster has, what each team may hold of it, and what it can ever get.

These numbers are what the verdict sums against, and what Kueue's objects are made of: one Cohort
for each team (its guaranteed quota and its borrowing limit), under its named cohort if it has one,
under one root Cohort of the cluster, which holds what nobody has been guaranteed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

if TYPE_CHECKING:
    from compiler.policy.cluster import Cluster
    from compiler.policy.team import Team
    from compiler.repository import Document, Policy

# The name under which runs without accelerators count their nodes.
CPU = ""
Line = tuple[str, int]


def accelerators(held: Mapping[str, int]) -> int:
    """How many accelerators of all kinds are among what is held; nodes without any count none."""
    return sum(number for name, number in held.items() if name != CPU)


class Share(Struct, frozen=True):
    """What one team may hold of one accelerator: always, and on top of it while others do not.

    `borrowing` is None where policy sets no limit to it. `at` is the line that says so.
    """

    guaranteed: int
    borrowing: int | None
    at: Line

    @property
    def limit(self) -> int | None:
        """The most that the team may ever hold; None where policy sets no limit."""
        return None if self.borrowing is None else self.guaranteed + self.borrowing


class ClusterLimits(Struct, frozen=True):
    """The numbers of one cluster.

    `capacity` is nodes times accelerators of a node, by accelerator, and the nodes without any
    under `CPU`. `shares` has a row for every team that may use the cluster and, in it, one for
    every accelerator of the catalogue. `cohorts` gives the parent of each named cohort, None for
    the root; one in a circle, or with an unknown parent, stands under the root. `cohort_of` gives
    the named cohort of each team, None for the root. `runs` is how many runs a team may have at
    once, where policy says so. `waits` says that Kueue makes runs wait.
    """

    cluster: str
    waits: bool
    capacity: Mapping[str, int]
    capacity_at: Mapping[str, Line]
    shares: Mapping[str, Mapping[str, Share]]
    cohorts: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    cohort_of: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    runs: Mapping[str, int] = field(default_factory=dict[str, int])
    runs_at: Mapping[str, Line] = field(default_factory=dict[str, Line])

    def leftover(self, accelerator: str) -> int:
        """What nobody has been guaranteed: it sits at the root, for whoever may borrow."""
        given = sum(self.guaranteed(accelerator).values())
        return max(0, self.capacity.get(accelerator, 0) - given)

    def guaranteed(self, accelerator: str) -> dict[str, int]:
        """What each team is guaranteed of an accelerator, teams with nothing left out."""
        return {
            team: own[accelerator].guaranteed
            for team, own in self.shares.items()
            if accelerator in own and own[accelerator].guaranteed
        }

    def reachable(self, team: str, accelerator: str) -> int:
        """The most that a team can ever get: what it is guaranteed, and what it may borrow of
        what others are, or of what nobody is."""
        share = self.shares.get(team, {}).get(accelerator)
        if share is None:
            return self.capacity.get(accelerator, 0) if accelerator == CPU else 0
        others = sum(self.guaranteed(accelerator).values()) - share.guaranteed
        lendable = others + self.leftover(accelerator)
        most = lendable if share.borrowing is None else min(share.borrowing, lendable)
        return share.guaranteed + most


def limits_of(policy: Policy) -> dict[str, ClusterLimits]:
    """The numbers of every cluster that can be read, by its name."""
    return {name: _of_cluster(cluster, policy) for name, cluster in policy.clusters.items()}


def budgets(policy: Policy) -> dict[str, int]:
    """The accelerator-hours that teams may use in a month, of those that have a budget."""
    return {
        name: team.value.budget
        for name, team in policy.teams.items()
        if team.value.budget is not None
    }


def _of_cluster(cluster: Document[Cluster], policy: Policy) -> ClusterLimits:
    value, catalogue = cluster.value, cluster.value.accelerators or {}
    capacity = {name: entry.per_node * entry.nodes for name, entry in catalogue.items()}
    at = {name: _line(cluster, "accelerators", name, "nodes") for name in catalogue}
    if value.cpu_nodes is not None:
        capacity[CPU] = value.cpu_nodes.nodes
        at[CPU] = _line(cluster, "cpu_nodes", "nodes")
    teams = {
        name: team for name, team in policy.teams.items() if cluster.name in team.value.clusters
    }
    capped = {
        name: team.value.caps.runs
        for name, team in teams.items()
        if team.value.caps is not None and team.value.caps.runs is not None
    }
    return ClusterLimits(
        cluster=cluster.name,
        waits=(value.admission or "kueue") == "kueue",
        capacity=capacity,
        capacity_at=at,
        shares={name: dict(_shares(team, cluster)) for name, team in teams.items()},
        cohorts=parents(value),
        cohort_of={name: _cohort(team.value, cluster) for name, team in teams.items()},
        runs=capped,
        runs_at={name: _line(teams[name], "caps", "runs") for name in capped},
    )


def _shares(team: Document[Team], cluster: Document[Cluster]) -> Iterator[tuple[str, Share]]:
    """A team's share of each accelerator: no quota for the cluster at all is no limit, a quota for
    other accelerators alone is none of this one."""
    own = (team.value.quota or {}).get(cluster.name)
    for name in cluster.value.accelerators or {}:
        at = _line(team, "quota", cluster.name, name)
        if own is None:
            yield name, Share(0, None, at)
        elif name in own:
            yield name, Share(own[name].guaranteed, own[name].borrowing or 0, at)
        else:
            yield name, Share(0, 0, at)


def _cohort(team: Team, cluster: Document[Cluster]) -> str | None:
    name = (team.cohort or {}).get(cluster.name)
    return name if name in (cluster.value.cohorts or {}) else None


def parents(cluster: Cluster) -> dict[str, str | None]:
    """The parent of each named cohort, None for the root: what is in a circle hangs there too."""
    written = {name: cohort.parent for name, cohort in (cluster.cohorts or {}).items()}
    circling = set(circles(cluster))
    return {
        name: None if name in circling or parent not in written else parent
        for name, parent in written.items()
    }


def circles(cluster: Cluster) -> list[str]:
    """The named cohorts that are, over their parents, part of themselves."""
    written = {name: cohort.parent for name, cohort in (cluster.cohorts or {}).items()}
    found: list[str] = []
    for name, above in written.items():
        seen: set[str] = set()
        while above is not None and above in written and above not in seen and above != name:
            seen.add(above)
            above = written[above]
        if above == name:
            found.append(name)
    return found


def _line(document: Document[Any], *route: str) -> Line:
    """The line of a field's name, or of the nearest thing around it that is there."""
    return document.path, document.place(*route, key=True).line or 1
