"""The sums: who holds what, which limits the rest would pass, and who waits behind whom.

A pure function of claims and limits. Claims come in the order in which they get room: what runs
holds already, the rest takes what is left, each as a whole, and one that waits reserves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from compiler.quota.limits import CPU, ClusterLimits, Line
from compiler.quota.month import Purse, yet
from compiler.runs.room import HOURS, RUNS, Demand, Lack, Limits, Room

Spot = tuple[str, str | None, str]
"""A limit: cluster, team (None for what the cluster has), and accelerator or `RUNS`."""


class Claim(Struct, frozen=True):
    """What one run holds, or would hold if it started.

    `run` is the name of its object, '' for a run that is not there yet; `until` its latest end, ''
    where there is none or it has not started. `least` is what an elastic run begins with. One that
    is `refused` can never start as it is declared: it is told of, and takes nothing. `seconds` is
    its max_duration, 0 for none.
    """

    cluster: str
    team: str
    job: str
    path: str
    queue: str
    demand: Demand
    least: Demand | None = None
    active: bool = False
    refused: bool = False
    run: str = ""
    until: str = ""
    owner: str = ""
    seconds: int = 0

    @property
    def title(self) -> str:
        """How people call it: `nlp/tune-r3`, or `nlp/tune` before it has a number."""
        return f"{self.team}/{self.run or self.job}"


class Breach(Struct):
    """A limit that is passed, or would be: `held` of it is taken, `waiting` would pass it."""

    cluster: str
    team: str | None
    accelerator: str
    limit: int
    at: Line
    held: int
    holders: list[Claim]
    waiting: list[Claim]

    @property
    def requested(self) -> int:
        """What all that wait for it ask for."""
        return sum(self.of(claim) for claim in self.waiting)

    def of(self, claim: Claim) -> int:
        """What of the limit a claim takes: accelerators, or one run."""
        return 1 if self.accelerator == RUNS else claim.demand.get(self.accelerator, 0)


def rooms(limits: Mapping[str, ClusterLimits], waits: bool = True) -> dict[str, Limits]:
    """The limits as `Room` counts them; without `waits` sums are looked at everywhere."""
    made: dict[str, Limits] = {}
    for name, cluster in limits.items():
        quota = {
            team: {
                accelerator: min(share.limit, cluster.reachable(team, accelerator))
                for accelerator, share in own.items()
                if share.limit is not None
            }
            for team, own in cluster.shares.items()
            if all(share.limit is not None for share in own.values())
        }
        made[name] = Limits(cluster.capacity, quota, cluster.runs, waits and cluster.waits)
    return made


def breaches(claims: Sequence[Claim], limits: Mapping[str, ClusterLimits]) -> list[Breach]:
    """The limits that are passed or would be, in the order of clusters, teams and accelerators.

    A claim that passes several is in each of them. More may be held than a limit allows, where
    policy has lowered it since: then nothing need wait for it.
    """
    return list(summed(claims, limits).found())


def summed(
    claims: Sequence[Claim], limits: Mapping[str, ClusterLimits], purse: Purse | None = None
) -> Counted:
    """All claims, each after those before it."""
    counted = Counted(limits, purse)
    for claim in claims:
        counted.add(claim)
    return counted


class Counted:
    """Claims, summed one after another.

    What active claims may use this month stands in the `purse` already. `overdrawn` are those that
    nothing but their team's budget stands against.
    """

    def __init__(self, limits: Mapping[str, ClusterLimits], purse: Purse | None = None) -> None:
        self.limits = limits
        self.room = Room(rooms(limits, waits=False), purse)
        self.holding: list[Claim] = []
        self.overdrawn: list[Claim] = []
        self.waiting: dict[Spot, tuple[Lack, list[Claim]]] = {}

    def lacking(self, claim: Claim) -> list[Lack]:
        """The limits that stand against a claim now."""
        least = None if self._waits(claim) else claim.least
        return list(
            self.room.lacking(
                claim.cluster, claim.team, claim.demand, None, least, self.seconds(claim)
            )
        )

    def seconds(self, claim: Claim) -> int:
        """The accelerator-seconds of this month that a claim asks for; none for one that holds."""
        purse = self.room.purse
        if purse is None or claim.active or claim.team not in purse.hours:
            return 0
        return yet(purse.month, claim.demand, claim.seconds)

    def add(self, claim: Claim) -> None:
        """Let a claim take its room, or wait for it."""
        lacks = [] if claim.active else self.lacking(claim)
        if lacks and all(lack.accelerator == HOURS for lack in lacks) and not claim.refused:
            self.overdrawn.append(claim)
        for lack in lacks:
            if lack.accelerator == HOURS:
                continue
            spot = (claim.cluster, lack.team, lack.accelerator)
            self.waiting.setdefault(spot, (lack, []))[1].append(claim)
        if not lacks and not claim.refused:
            self.room.take(claim.cluster, claim.team, claim.demand)
            self.room.spend(claim.team, self.seconds(claim))
            self.holding.append(claim)

    @property
    def starts(self) -> Iterator[Claim]:
        """Those that have room and do not hold it yet, in the order of their turns."""
        return (claim for claim in self.holding if not claim.active)

    def found(self) -> Iterator[Breach]:
        """The limits that are passed."""
        spots = {spot: lack.limit for spot, (lack, _) in self.waiting.items()}
        spots |= dict(self._above())
        for spot in sorted(spots, key=lambda spot: (spot[0], spot[1] is None, spot[1], spot[2])):
            cluster, team, accelerator = spot
            breach = Breach(
                cluster,
                team,
                accelerator,
                spots[spot],
                self._line(spot),
                self.room.held(cluster, team, accelerator),
                [],
                self.waiting[spot][1] if spot in self.waiting else [],
            )
            breach.holders = sorted(
                (
                    claim
                    for claim in self.holding
                    if claim.cluster == cluster and team in (None, claim.team) and breach.of(claim)
                ),
                key=lambda claim: (-breach.of(claim), claim.title),
            )
            yield breach

    def _above(self) -> Iterator[tuple[Spot, int]]:
        """Limits that what is held is above of, whoever waits."""
        for name, limits in self.room.limits.items():
            for accelerator, capacity in limits.capacity.items():
                if self._begun(name, accelerator) > capacity:
                    yield (name, None, accelerator), capacity
            for team, own in limits.quota.items():
                for accelerator, most in own.items():
                    if self.room.held(name, team, accelerator) > most:
                        yield (name, team, accelerator), most
            for team, most in limits.runs.items():
                if self.room.held(name, team, RUNS) > most:
                    yield (name, team, RUNS), most

    def _begun(self, cluster: str, accelerator: str) -> int:
        """What is held on a cluster where no elastic run has grown beyond its least nodes."""
        held = self.room.held(cluster, None, accelerator)
        if held <= self.room.limits[cluster].capacity[accelerator] or self.limits[cluster].waits:
            return held
        own = (claim for claim in self.holding if claim.cluster == cluster)
        return sum((claim.least or claim.demand).get(accelerator, 0) for claim in own)

    def _waits(self, claim: Claim) -> bool:
        limits = self.limits.get(claim.cluster)
        return limits is None or limits.waits

    def _line(self, spot: Spot) -> Line:
        cluster, team, accelerator = spot
        limits = self.limits[cluster]
        if team is None:
            return limits.capacity_at[accelerator]
        if accelerator == RUNS:
            return limits.runs_at[team]
        return limits.shares[team][accelerator].at


def beside(
    claims: Iterable[Claim],
    place: tuple[str, str, str],
    limits: Mapping[str, ClusterLimits],
    purse: Purse | None = None,
) -> Counted:
    """What is counted without a job on a cluster: `place` is cluster, team and job.

    What fits beside all the others when its turn comes takes nothing from those after it.
    """
    counted = Counted(limits, purse)
    for claim in claims:
        if claim.active or (claim.cluster, claim.team, claim.job) != place:
            counted.add(claim)
    return counted


__all__ = [
    "CPU",
    "RUNS",
    "Breach",
    "Claim",
    "Counted",
    "Spot",
    "beside",
    "breaches",
    "rooms",
    "summed",
]
