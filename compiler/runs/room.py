"""Room on a cluster: what runs hold now, and whether one more fits.

Accelerators are whole numbers (or nodes, for runs without any). Of a budget accelerator-seconds
count, in exact fractions; only what is left of it is rounded, down, to be shown in hours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TypeVar

from msgspec import Struct, field

from compiler.quota.limits import CPU
from compiler.quota.month import HOUR, Purse

__all__ = ["CPU", "HOURS", "RUNS", "Demand", "Lack", "Limits", "Room"]

# The name under which a team's runs are counted, each as one.
RUNS = "#runs"
# The name under which the accelerator-hours of a team's month are counted, over all clusters.
HOURS = "#hours"
Demand = Mapping[str, int]
Key = TypeVar("Key")


class Limits(Struct, frozen=True):
    """What a cluster has and what a team may hold there, by accelerator; None for no limit.

    `waits` says that the cluster's own queue makes runs wait (Kueue): then sums are not looked at,
    only how many runs a team has and what could never fit.
    """

    capacity: Demand = field(default_factory=dict[str, int])
    quota: Mapping[str, Demand] = field(default_factory=dict[str, Demand])
    runs: Mapping[str, int] = field(default_factory=dict[str, int])
    waits: bool = False


class Lack(Struct, frozen=True):
    """A limit that one more run would pass.

    `team` is None where the limit is what the cluster has. Of `HOURS` limit and free are hours.
    `free` is what is left below the limit, negative where more is held than it allows.
    """

    team: str | None
    accelerator: str
    limit: int
    free: int


class Room:
    """Who holds what, on all clusters, while one publish is decided.

    `purse` says what the teams' budgets leave for what starts; None where nobody asks.
    """

    def __init__(self, limits: Mapping[str, Limits], purse: Purse | None = None) -> None:
        self.limits = limits
        self.purse = purse
        self._spent = dict(purse.spent) if purse is not None else {}
        self._cluster: dict[str, Counter[str]] = {}
        self._team: dict[tuple[str, str], Counter[str]] = {}

    def take(self, cluster: str, team: str, demand: Demand) -> None:
        """A run begins to hold its accelerators."""
        self._add(cluster, team, demand, 1)

    def release(self, cluster: str, team: str, demand: Demand) -> None:
        """A run gives its accelerators back."""
        self._add(cluster, team, demand, -1)

    def held(self, cluster: str, team: str | None, accelerator: str) -> int:
        """How many are held on a cluster, by one team or by all; of `RUNS`, how many runs."""
        own = self._cluster.get(cluster) if team is None else self._team.get((cluster, team))
        return own[accelerator] if own is not None else 0

    def spend(self, team: str, seconds: Fraction | int) -> None:
        """So many accelerator-seconds of a team's month may be used; fewer than none are saved."""
        self._spent[team] = self._spent.get(team, Fraction(0)) + seconds

    def spent(self, team: str) -> Fraction:
        """The accelerator-seconds of a team's month that are used or may be."""
        return self._spent.get(team, Fraction(0))

    def become(self, other: Room) -> None:
        """Hold what the other one holds."""
        self._cluster, self._team, self._spent = other._cluster, other._team, other._spent

    def fits(
        self,
        cluster: str,
        team: str,
        demand: Demand,
        given_back: Demand | None,
        least: Demand | None = None,
        seconds: Fraction | int = 0,
    ) -> bool:
        """Whether `demand` has room, were a run that holds `given_back` ended first.

        `least` is what an elastic run needs to begin with, `seconds` what of its team's month it
        may use, less what that other run leaves.
        """
        return next(self.lacking(cluster, team, demand, given_back, least, seconds), None) is None

    def lacking(
        self,
        cluster: str,
        team: str,
        demand: Demand,
        given_back: Demand | None = None,
        least: Demand | None = None,
        seconds: Fraction | int = 0,
    ) -> Iterator[Lack]:
        """The limits that stand against one more run, those of the team first, its budget last.

        Quota and cap bound the most that it may hold. What the cluster has bounds what it begins
        with: an elastic run starts with its least nodes and grows as others come free. A queue of
        the cluster's own admits all of its pods together, so that there the most counts twice.
        """
        limits = self.limits.get(cluster)
        if limits is not None:
            yield from self._full(limits, cluster, team, demand, given_back, least)
        budget = self.purse.hours.get(team) if self.purse is not None else None
        if budget is not None and seconds > 0:
            left = budget * HOUR - self.spent(team)
            if seconds > left:
                yield Lack(team, HOURS, budget, left.numerator // (left.denominator * HOUR))

    def _full(
        self,
        limits: Limits,
        cluster: str,
        team: str,
        demand: Demand,
        given_back: Demand | None,
        least: Demand | None,
    ) -> Iterator[Lack]:
        most = limits.runs.get(team)
        if most is not None:
            running = self.held(cluster, team, RUNS) - (0 if given_back is None else 1)
            if running + 1 > most:
                yield Lack(team, RUNS, most, most - running)
        quota = limits.quota.get(team)
        for name, wanted in demand.items() if quota is not None else ():
            allowed = quota.get(name, 0) if quota is not None else 0
            free = allowed - self._taken(limits, cluster, team, name, given_back)
            if name != CPU and wanted > free:
                yield Lack(team, name, allowed, free)
        begins = demand if least is None or limits.waits else least
        for name, wanted in begins.items():
            if name in limits.capacity:
                has = limits.capacity[name]
                free = has - self._taken(limits, cluster, None, name, given_back)
                if wanted > free:
                    yield Lack(None, name, has, free)

    def _taken(
        self, limits: Limits, cluster: str, team: str | None, name: str, given_back: Demand | None
    ) -> int:
        if limits.waits:
            return 0
        return self.held(cluster, team, name) - (given_back or {}).get(name, 0)

    def _add(self, cluster: str, team: str, demand: Demand, sign: int) -> None:
        for held in (self._of(self._cluster, cluster), self._of(self._team, (cluster, team))):
            for name, count in demand.items():
                held[name] += sign * count
            held[RUNS] += sign

    def _of(self, sums: dict[Key, Counter[str]], key: Key) -> Counter[str]:
        if key not in sums:
            sums[key] = Counter()
        return sums[key]
