"""The sums equal those of a reference that adds everything up from nothing each time."""

from __future__ import annotations

from collections.abc import Mapping

import quota_reference as reference
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.quota.limits import ClusterLimits, Share
from compiler.quota.sums import RUNS, Claim, beside, breaches

CLUSTERS, TEAMS, NAMES = ("east", "west"), ("a", "b", "c"), ("A", "B", "cpu")
amounts = st.integers(0, 40)
numbers = st.one_of(amounts, st.integers(0, 10**12))


@st.composite
def worlds(draw: st.DrawFn) -> reference.World:
    capacity = {
        cluster: {name: draw(numbers) for name in NAMES if name == "A" or draw(st.booleans())}
        for cluster in CLUSTERS
    }
    quota: dict[tuple[str, str], Mapping[str, tuple[int, int]] | None] = {}
    runs: dict[tuple[str, str], int] = {}
    for cluster in CLUSTERS:
        for team in TEAMS:
            known = [name for name in capacity[cluster] if name != "cpu"]
            quota[cluster, team] = (
                {name: (draw(amounts), draw(amounts)) for name in known if draw(st.booleans())}
                if draw(st.booleans())
                else None
            )
            if draw(st.booleans()):
                runs[cluster, team] = draw(st.integers(1, 4))
    kueue = frozenset(draw(st.sets(st.sampled_from(CLUSTERS))))
    return reference.World(capacity, quota, runs, kueue)


@st.composite
def runs(draw: st.DrawFn, world: reference.World) -> list[reference.Run]:
    made: list[reference.Run] = []
    for number in range(draw(st.integers(0, 8))):
        cluster = draw(st.sampled_from(CLUSTERS))
        names = draw(st.sets(st.sampled_from(sorted(world.capacity[cluster])), min_size=1))
        demand = tuple((name, draw(st.integers(1, 30))) for name in sorted(names))
        least = None
        if draw(st.booleans()):
            least = tuple((name, draw(st.integers(1, most))) for name, most in demand)
        made.append(
            reference.Run(
                cluster,
                draw(st.sampled_from(TEAMS)),
                f"job{number}",
                demand,
                least,
                active=draw(st.integers(0, 3)) == 0,
            )
        )
    return sorted(made, key=lambda run: not run.active)


def limits_of(world: reference.World) -> dict[str, ClusterLimits]:
    def share(cluster: str, team: str, name: str) -> Share:
        own = world.quota[cluster, team]
        at = (f"policy/teams/{team}.yaml", 1)
        return Share(0, None, at) if own is None else Share(*own.get(name, (0, 0)), at)

    return {
        cluster: ClusterLimits(
            cluster=cluster,
            waits=cluster in world.kueue,
            capacity={"" if name == "cpu" else name: has for name, has in own.items()},
            capacity_at={"" if name == "cpu" else name: ("west.yaml", 1) for name in own},
            shares={
                team: {name: share(cluster, team, name) for name in own if name != "cpu"}
                for team in TEAMS
            },
            runs={team: most for (where, team), most in world.runs.items() if where == cluster},
            runs_at=dict.fromkeys(TEAMS, ("team.yaml", 1)),
        )
        for cluster, own in world.capacity.items()
    }


def claim(run: reference.Run) -> Claim:
    def named(pairs: tuple[tuple[str, int], ...]) -> dict[str, int]:
        return {"" if name == "cpu" else name: number for name, number in pairs}

    return Claim(
        run.cluster,
        run.team,
        run.job,
        f"jobs/{run.team}/{run.job}.yaml",
        "",
        named(run.demand),
        None if run.least is None else named(run.least),
        active=run.active,
    )


def shown(name: str) -> str:
    return {RUNS: reference.RUNS, "": "cpu"}.get(name, name)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_every_limit_that_is_passed_is_found_and_no_other(data: st.DataObject) -> None:
    world = data.draw(worlds())
    of = data.draw(runs(world))
    wanted = reference.verdict(world, of)
    found = breaches([claim(run) for run in of], limits_of(world))

    def row(of: reference.Passed) -> tuple[object, ...]:
        return (of.cluster, of.team, of.accelerator, of.limit, of.held, of.holders, of.waiting)

    got = [
        reference.Passed(
            one.cluster,
            one.team,
            shown(one.accelerator),
            one.limit,
            one.held,
            {(f"{held.team}/{held.job}", one.of(held)) for held in one.holders},
            {(f"{behind.team}/{behind.job}", one.of(behind)) for behind in one.waiting},
        )
        for one in found
    ]
    order = lambda one: (one.cluster, one.team or "~", one.accelerator)  # noqa: E731
    assert [row(one) for one in sorted(got, key=order)] == [
        row(one) for one in sorted(wanted, key=order)
    ]
    for one in found:
        # What is held is what its holders hold, to the last accelerator.
        assert sum(one.of(held) for held in one.holders) == one.held
        assert one.requested == sum(one.of(behind) for behind in one.waiting)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_what_stands_against_a_run_is_what_all_others_hold(
    data: st.DataObject,
) -> None:
    world = data.draw(worlds())
    of = data.draw(runs(world))
    claims, limits = [claim(run) for run in of], limits_of(world)
    for run in of:
        if run.active:
            continue
        counted = beside(claims, (run.cluster, run.team, run.job), limits)
        against = {(lack.team, shown(lack.accelerator)) for lack in counted.lacking(claim(run))}
        others = [one for one in of if one is not run]
        assert against == reference.obstacles(world, reference.held_before(world, others), run)
