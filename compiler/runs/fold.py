"""One publish, in memory: declarations and ledgers in, decisions and new ledgers out.

A pure function. `plan` shows what it says, `publish` writes it; so both say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from compiler.runs.deciding import Deciding, Item, agenda
from compiler.runs.declared import Declared, Facts, Key, StopNow, Target
from compiler.runs.engine import Decision
from compiler.runs.entries import Ledger, Moment
from compiler.runs.joined import joined
from compiler.runs.observations import Observation, observe, unlisted
from compiler.runs.room import Room
from compiler.runs.stopguard import Guard, guarded

__all__ = [
    "Declared",
    "Facts",
    "Guard",
    "JobDecision",
    "Key",
    "Outcome",
    "StopNow",
    "Target",
    "fold",
]


class JobDecision(Struct, frozen=True):
    """A decision, with the job and the cluster that it is about.

    `book` is the name under which the job's ledger stands: another than `job` after a rename.
    `cluster` is empty for a file that cannot be judged and has no runs. `adopts` is the object that
    becomes the job's first run now; '' where there is none.
    """

    team: str
    job: str
    cluster: str
    path: str
    decision: Decision
    target: Target | None = None
    book: str = ""
    adopts: str = ""


class Outcome(Struct):
    """What a publish does: the decisions in their order, and every ledger afterwards.

    `guard` is what the stop guard says, where it speaks.
    """

    decisions: list[JobDecision]
    ledgers: dict[Key, Ledger]
    guard: Guard | None = None


def fold(
    ledgers: Mapping[Key, Ledger],
    declared: Sequence[Declared],
    observations: Iterable[Observation],
    stops: Sequence[StopNow],
    room: Room,
    facts: Facts,
    same: Mapping[tuple[Key, int], tuple[str, str]] | None = None,
    *,
    stop_guard: Fraction | None = None,
    allow_stops: int | None = None,
    pure_revert: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Decide about every job on every cluster that it names or has runs on.

    `same` gives, by ledger and number, the digests that today's compiler computes for a run of the
    ledger; where it is silent the recorded ones stand. The ledgers that come out keep what was
    recorded. `room` is empty at first; it holds the active runs afterwards. What runs have used of
    the month of its purse is summed here.

    Where more than `stop_guard`, a share, of the running accelerators would stop, now or once
    there is room for what takes their place, the stops and the starts that rest on them are
    withheld, unless `allow_stops` is at least the number of runs or the publish is a
    `pure_revert` of earlier commits, which is asked only then.
    """
    told = joined(ledgers, declared)
    books = _canonical(told.books, same or {})
    books = _reset(_observed(books, observations, facts), facts)
    items = agenda(books, told.declared, told.book_of)
    guard, withheld = None, {}
    if stop_guard is not None:
        # With endless room: what waits for room to be stopped counts as well.
        ahead = Deciding(books, items, stops, Room({}), facts)
        stopping = ahead.unasked(ahead.decided({}))
        guard, withheld = guarded(
            books, stopping, stop_guard, allow_stops, pure_revert, facts.source
        )
    deciding = Deciding(books, items, stops, Room(room.limits, room.purse), facts)
    decisions = deciding.decided(withheld)
    room.become(deciding.room)
    return Outcome(
        [_shown(item, decisions[item.place]) for item in items],
        _as_recorded(deciding.books, told.books),
        guard,
    )


def _shown(item: Item, decision: Decision) -> JobDecision:
    team, name = item.job.key if item.job is not None else item.key
    path = item.job.path if item.job is not None else ""
    return JobDecision(team, name, item.cluster, path, decision, item.target, item.key[1])


def _canonical(
    ledgers: Mapping[Key, Ledger], same: Mapping[tuple[Key, int], tuple[str, str]]
) -> dict[Key, Ledger]:
    """The ledgers as today's compiler reads them."""
    books = dict(ledgers)
    for (key, number), (training, operation) in same.items():
        ledger = books.get(key, Ledger(*key))
        run = next((run for run in ledger.runs if run.number == number), None)
        if run is not None and (run.training, run.operation) != (training, operation):
            books[key] = ledger.with_run(replace(run, training=training, operation=operation))
    return books


def _as_recorded(after: Mapping[Key, Ledger], before: Mapping[Key, Ledger]) -> dict[Key, Ledger]:
    """The ledgers with the digests that were first written: they are a run's for ever."""
    books = dict(after)
    for key, ledger in before.items():
        first = {run.number: run for run in ledger.runs}
        for run in books[key].runs:
            old = first.get(run.number, run)
            if (old.training, old.operation) != (run.training, run.operation):
                recorded = replace(run, training=old.training, operation=old.operation)
                books[key] = books[key].with_run(recorded)
    return books


def _observed(
    books: dict[Key, Ledger], observations: Iterable[Observation], facts: Facts
) -> dict[Key, Ledger]:
    seen = sorted(observations, key=lambda observation: observation.time)
    made: dict[Key, Ledger] = {}
    for key, ledger in books.items():
        namespace = facts.namespaces.get(key[0], key[0])
        for observation in seen:
            ledger = observe(ledger, observation, namespace)
        made[key] = unlisted(ledger, facts.today, facts.keep)
    return made


def _reset(books: dict[Key, Ledger], facts: Facts) -> dict[Key, Ledger]:
    """A cluster that was rebuilt has none of its runs any more, ended ones included."""
    moment = Moment(facts.today.isoformat(), facts.source, "reset")
    for key, ledger in books.items():
        for run in ledger.runs:
            if run.cluster in facts.reset and run.active:
                ledger = ledger.with_run(run.end("lost", "unknown", moment))
            elif run.cluster in facts.reset and run.listed:
                ledger = ledger.with_run(replace(run, listed=False))
        books[key] = ledger
    return books
