"""Room on a cluster: what runs hold now, and whether one more fits.

All numbers are whole accelerators (or nodes, for runs without any); nothing is ever rounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

# The name under which runs without accelerators count their nodes.
CPU = ""
Demand = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a cluster has and what a team may hold there, by accelerator; None for no limit.

    `waits` says that the cluster's own queue makes runs wait (Kueue): then sums are not looked at,
    only how many runs a team has and what could never fit.
    """

    capacity: Demand = field(default_factory=dict[str, int])
    quota: Mapping[str, Demand] = field(default_factory=dict[str, Demand])
    runs: Mapping[str, int] = field(default_factory=dict[str, int])
    waits: bool = False


class Room:
    """Who holds what, on all clusters, while one publish is decided."""

    def __init__(self, limits: Mapping[str, Limits]) -> None:
        self.limits = limits
        self._cluster: dict[str, Counter[str]] = {}
        self._team: dict[tuple[str, str], Counter[str]] = {}
        self._runs: Counter[tuple[str, str]] = Counter()

    def take(self, cluster: str, team: str, demand: Demand) -> None:
        """A run begins to hold its accelerators."""
        self._add(cluster, team, demand, 1)

    def release(self, cluster: str, team: str, demand: Demand) -> None:
        """A run gives its accelerators back."""
        self._add(cluster, team, demand, -1)

    def held(self, cluster: str, team: str | None, accelerator: str) -> int:
        """How many are held on a cluster, by one team or by all."""
        if team is None:
            return self._cluster.get(cluster, Counter())[accelerator]
        return self._team.get((cluster, team), Counter())[accelerator]

    def become(self, other: Room) -> None:
        """Hold what the other one holds."""
        self._cluster, self._team, self._runs = other._cluster, other._team, other._runs

    def fits(self, cluster: str, team: str, demand: Demand, given_back: Demand | None) -> bool:
        """Whether `demand` has room, were a run that holds `given_back` ended first."""
        limits = self.limits.get(cluster)
        if limits is None:
            return True
        for name, wanted in demand.items():
            back = 0 if limits.waits or given_back is None else given_back.get(name, 0)
            everyone = 0 if limits.waits else self.held(cluster, None, name) - back
            own = 0 if limits.waits else self.held(cluster, team, name) - back
            if name in limits.capacity and everyone + wanted > limits.capacity[name]:
                return False
            quota = limits.quota.get(team)
            if quota is not None and name != CPU and own + wanted > quota.get(name, 0):
                return False
        most = limits.runs.get(team)
        running = self._runs[cluster, team] - (0 if given_back is None else 1)
        return most is None or running + 1 <= most

    def _add(self, cluster: str, team: str, demand: Demand, sign: int) -> None:
        whole = self._cluster.setdefault(cluster, Counter())
        own = self._team.setdefault((cluster, team), Counter())
        for name, count in demand.items():
            whole[name] += sign * count
            own[name] += sign * count
        self._runs[cluster, team] += sign
