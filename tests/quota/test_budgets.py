"""Budgets hold, and hold nothing back that they leave hours for: many publishes, hour by hour."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.quota.month import Month, Purse, Use, used
from compiler.runs.declared import Declared, Facts, Target
from compiler.runs.entries import Entry, Ledger, Moment
from compiler.runs.fold import fold
from compiler.runs.observations import Observation, Observed
from compiler.runs.room import Limits, Room

BEGIN = datetime(2026, 1, 24, tzinfo=UTC)
CLUSTERS = ("west", "east")


@dataclass(frozen=True)
class Job:
    """A job as it is declared; `hours` is 0 for one without a limit."""

    name: str
    cluster: str
    count: int
    hours: int
    label: int = 0


jobs = st.builds(
    Job,
    st.sampled_from("pqrst"),
    st.sampled_from(CLUSTERS),
    st.integers(0, 3),
    st.sampled_from((0, 5, 24, 60, 200)),
)
# Before each publish hours pass; a job may be edited or go, and a run be seen ended.
steps = st.tuples(st.integers(1, 50), st.integers(0, 9), st.integers(0, 9))


def declared(job: Job, rank: int) -> Declared:
    target = Target(
        training=f"{job.name}{job.label}",
        operation="o",
        demand={"H100": job.count} if job.count else {"": 3},
        seconds=job.hours * 3600,
        declared_hours=str((job.count or 3) * job.hours) if job.hours else "",
    )
    path = f"jobs/a/{job.name}.yaml"
    return Declared(
        "a", job.name, path, "", (job.cluster,), {job.cluster: target}, order=(rank, path)
    )


def same_month(one: datetime, other: datetime) -> bool:
    return (one.year, one.month) == (other.year, other.month)


def hours_of(run: Entry, now: datetime) -> int:
    """The accelerator-hours of a run in the month of `now`, counted hour by hour."""
    count = run.accelerators.get("H100", 0)
    assert run.started is not None
    at = datetime.fromisoformat(run.started.at)
    last = at + timedelta(days=90)
    if run.ended is not None:
        last = datetime.fromisoformat(run.ended.at)
    if run.declared_hours:
        longest = int(run.declared_hours) // sum(run.accelerators.values())
        last = min(last, at + timedelta(hours=longest))
    total = 0
    while at < last:
        total += count if same_month(at, now) else 0
        at += timedelta(hours=1)
    return total


def ended(run: Entry, now: datetime) -> Entry:
    """The run as if it had ended now."""
    return run.end("superseded", "unknown", Moment(now.isoformat()))


def asked(job: Job, now: datetime) -> int:
    """What a job may use this month if it starts today, from the first hour of the day on."""
    at, total, left = now.replace(hour=0), 0, job.hours or 24 * 40
    while left and same_month(at, now):
        total += job.count
        at += timedelta(hours=1)
        left -= 1
    return total


@settings(max_examples=100, deadline=None)
@given(
    st.lists(jobs, min_size=3, max_size=5, unique_by=lambda job: job.name),
    st.integers(20, 300),
    st.lists(steps, min_size=4, max_size=10),
)
def test_no_start_passes_the_budget_and_nothing_is_held_that_fits(
    those: list[Job], budget: int, happenings: list[tuple[int, int, int]]
) -> None:
    books: dict[tuple[str, str], Ledger] = {}
    now = BEGIN
    for passed, edited, seen in happenings:
        now += timedelta(hours=passed)
        if edited < len(those):
            those[edited] = replace(those[edited], label=those[edited].label + 1)
        elif edited == 9 and len(those) > 1:
            # The one that comes first goes; what it leaves is for the others, at once.
            del those[0]
        running = [run for book in books.values() for run in book.runs if run.active]
        observed: list[Observation] = []
        if seen < len(running):
            run = running[seen]
            found = {("p", run.name): Observed("succeeded")}
            observed.append(Observation(run.cluster, now.isoformat(), False, found))
        facts = Facts(now, "c0ffee", namespaces={"a": "p"})
        wanted = [declared(job, rank) for rank, job in enumerate(those)]

        def publish(
            before: dict[tuple[str, str], Ledger],
            told: list[Observation],
            wanted: list[Declared] = wanted,
            facts: Facts = facts,
            at: datetime = now,
        ) -> dict[tuple[str, str], Ledger]:
            limits = {name: Limits(waits=name == "east") for name in CLUSTERS}
            room = Room(limits, Purse(Month.of(at), {"a": budget}))
            return fold(before, wanted, told, (), room, facts).ledgers

        after = publish(books, observed)
        assert publish(after, []) == after, "a publish done twice does something more"
        known = [run for book in books.values() for run in book.runs if run.launched]
        launched = [run for book in after.values() for run in book.runs if run.launched]
        used = sum(hours_of(run, now) for run in launched)
        # Where a month began with more than its budget, what takes another's place uses no more.
        assert used <= max(budget, sum(hours_of(run, now) for run in known))
        for job in those:
            book = after["a", job.name]
            held = book.held(job.cluster)
            if held is None:
                continue
            active = book.active(job.cluster)
            saved = hours_of(active, now) - hours_of(ended(active, now), now) if active else 0
            assert used + asked(job, now) - saved > budget, (job, used, saved)
        books = after


@pytest.mark.parametrize("declared", ["9" * 30, "1e400", "-1e400", "0", "nan", "1/0", "x"])
@pytest.mark.parametrize(
    "started",
    ["2026-01-01T00:00:00+00:00", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"],
)
def test_what_nobody_can_have_meant_uses_no_more_than_the_month(
    declared: str, started: str
) -> None:
    for day in (BEGIN, datetime(9999, 12, 31, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC)):
        month = Month.of(day)
        whole = (month.end - month.start) // timedelta(seconds=1) + 1
        run = Use(1, "p-r1", "west", True, started, "", {"H100": 8}, declared, "", False)
        assert 0 <= used(month, run, goes_on=True) <= 8 * whole


def test_what_a_run_leaves_when_its_job_goes_is_for_the_others_at_once() -> None:
    first, second = Job("p", "west", 4, 24), Job("q", "west", 4, 24)
    purse = Purse(Month.of(BEGIN), {"a": 100})
    facts = Facts(BEGIN, "c0ffee", namespaces={"a": "p"})
    wanted = [declared(first, 0), declared(second, 1)]
    before = fold({}, wanted, (), (), Room({}, purse), facts).ledgers
    assert [book.runs[0].state for book in before.values()] == ["active", "held"]
    after = fold(before, wanted[1:], (), (), Room({}, purse), facts).ledgers
    assert [book.runs[0].state for book in after.values()] == ["ended", "active"]
