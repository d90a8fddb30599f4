"""The verdict, slow and obvious: an oracle that imports nothing of the compiler.

Every sum is added up from nothing whenever it is asked for. A run is a plain record:
`cluster team job demand least active refused`; limits are plain mappings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

# How a limit on the number of runs is named.
RUNS = "runs"
CPU = "cpu"


@dataclass(frozen=True)
class Run:
    """One run of one job on one cluster; `demand` and `least` are (accelerator, number) pairs."""

    cluster: str
    team: str
    job: str
    demand: tuple[tuple[str, int], ...]
    least: tuple[tuple[str, int], ...] | None = None
    active: bool = False
    refused: bool = False


@dataclass(frozen=True)
class World:
    """What policy says.

    `capacity` is by cluster and accelerator. `quota` is by cluster and team: None where the team
    has no quota for the cluster, else (guaranteed, borrowing) by accelerator. `runs` is by cluster
    and team. `kueue` are the clusters whose own queue admits all pods of a run together.
    """

    capacity: Mapping[str, Mapping[str, int]]
    quota: Mapping[tuple[str, str], Mapping[str, tuple[int, int]] | None]
    runs: Mapping[tuple[str, str], int] = field(default_factory=dict)
    kueue: frozenset[str] = frozenset()


@dataclass
class Passed:
    """A limit that is passed."""

    cluster: str
    team: str | None
    accelerator: str
    limit: int
    held: int
    holders: set[tuple[str, int]]
    waiting: set[tuple[str, int]]


def wants(run: Run, accelerator: str) -> int:
    if accelerator == RUNS:
        return 1
    return sum(number for name, number in run.demand if name == accelerator)


def begins(world: World, run: Run, accelerator: str) -> int:
    """What it needs of the cluster to start at all."""
    pairs = run.demand if run.least is None or run.cluster in world.kueue else run.least
    return sum(number for name, number in pairs if name == accelerator)


def allowed(world: World, cluster: str, team: str, accelerator: str) -> int | None:
    """The most that a team can ever hold; None for no limit of its own."""
    if accelerator == RUNS:
        return world.runs.get((cluster, team))
    own = world.quota.get((cluster, team))
    if own is None or accelerator == CPU:
        return None
    guaranteed, borrowing = own.get(accelerator, (0, 0))
    others = 0
    for (where, who), quota in world.quota.items():
        if where == cluster and who != team and quota is not None:
            others += quota.get(accelerator, (0, 0))[0]
    nobody = world.capacity[cluster].get(accelerator, 0) - guaranteed - others
    return guaranteed + min(borrowing, others + max(0, nobody))


def taken(runs: Iterable[Run], cluster: str, team: str | None, accelerator: str) -> int:
    total = 0
    for run in runs:
        if run.cluster == cluster and team in (None, run.team):
            total += wants(run, accelerator)
    return total


def obstacles(world: World, held: Sequence[Run], run: Run) -> set[tuple[str | None, str]]:
    """The limits that stand against one more run."""
    found: set[tuple[str | None, str]] = set()
    for accelerator in {RUNS, *(name for name, _ in run.demand)}:
        most = allowed(world, run.cluster, run.team, accelerator)
        total = taken(held, run.cluster, run.team, accelerator) + wants(run, accelerator)
        if most is not None and total > most:
            found.add((run.team, accelerator))
    for accelerator in {name for name, _ in (*run.demand, *(run.least or ()))}:
        has = world.capacity.get(run.cluster, {}).get(accelerator)
        total = taken(held, run.cluster, None, accelerator) + begins(world, run, accelerator)
        if has is not None and begins(world, run, accelerator) and total > has:
            found.add((None, accelerator))
    return found


def held_before(world: World, runs: Sequence[Run], until: Run | None = None) -> list[Run]:
    """The runs that hold when it is the turn of one, or when all have had theirs."""
    held = [run for run in runs if run.active]
    for run in runs:
        if run == until:
            break
        if not run.active and not run.refused and not obstacles(world, held, run):
            held.append(run)
    return held


def verdict(world: World, runs: Sequence[Run]) -> list[Passed]:
    """Every limit that is passed."""
    held = [run for run in runs if run.active]
    waiting: list[tuple[tuple[str | None, str], Run]] = []
    for run in runs:
        if run.active:
            continue
        against = obstacles(world, held, run)
        waiting += [(limit, run) for limit in against]
        if not against and not run.refused:
            held.append(run)
    passed: list[Passed] = []
    for cluster in world.capacity:
        limits: list[tuple[str | None, str, int]] = []
        for accelerator, number in world.capacity[cluster].items():
            limits.append((None, accelerator, number))
        for where, team in {*world.quota, *world.runs}:
            if where != cluster:
                continue
            for accelerator in (*world.capacity[cluster], RUNS):
                most = allowed(world, cluster, team, accelerator)
                if most is not None:
                    limits.append((team, accelerator, most))
        for team, accelerator, limit in limits:
            behind = {
                (f"{run.team}/{run.job}", wants(run, accelerator))
                for against, run in waiting
                if run.cluster == cluster and against == (team, accelerator)
            }
            now = taken(held, cluster, team, accelerator)
            above = now
            if team is None and cluster not in world.kueue:
                above = sum(
                    begins(world, run, accelerator) for run in held if run.cluster == cluster
                )
            if behind or above > limit:
                who = {
                    (f"{run.team}/{run.job}", wants(run, accelerator))
                    for run in held
                    if run.cluster == cluster
                    and team in (None, run.team)
                    and wants(run, accelerator)
                }
                passed.append(Passed(cluster, team, accelerator, limit, now, who, behind))
    return passed
