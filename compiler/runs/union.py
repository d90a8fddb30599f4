"""Several ledgers of one job as one: the furthest wins, field by field.

Reverting a publish commit brings an older ledger back; every ledger that a reachable publish
commit wrote is still true. So the ledger in force is the union of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from compiler.runs.entries import OUTCOMES, STATES, Entry, Ledger


class Contradiction(Exception):
    """Two ledgers say different things of one run that can never both be true."""


def union(ledgers: Iterable[Ledger]) -> Ledger:
    """All runs of these ledgers of one job, each as far as any of them knows.

    Raises Contradiction where one number has two digests: it was used twice.
    """
    known: dict[int, Entry] = {}
    also: set[str] = set()
    team = job = ""
    for ledger in ledgers:
        team, job = ledger.team, ledger.job
        also.update(ledger.also)
        for run in ledger.runs:
            other = known.get(run.number)
            known[run.number] = run if other is None else further(other, run)
    return Ledger(team, job, tuple(known[number] for number in sorted(known)), tuple(sorted(also)))


def further(one: Entry, two: Entry) -> Entry:
    """The two accounts of one run as one."""
    # A held run takes its name when it starts: the job's file may be called otherwise by then.
    names = () if "held" in (one.state, two.state) else ("name",)
    for name in ("cluster", *names, "training", "operation"):
        if getattr(one, name) != getattr(two, name):
            raise Contradiction(
                f"r{one.number} was used twice: its {name} is {getattr(one, name)} in one ledger "
                f"and {getattr(two, name)} in another"
            )
    first, second = sorted((one, two), key=_distance)
    state = max(one.state, two.state, key=STATES.index)
    ended = state == "ended"
    return replace(
        second,
        state=state,
        # Listed < unlisted: what has been taken off the list does not come back.
        listed=one.listed and two.listed if ended and one.state == two.state else second.listed,
        outcome=max(one.outcome, two.outcome, key=OUTCOMES.index),
        reason=second.reason or first.reason,
        held=one.held or two.held,
        started=one.started or two.started,
        ended=second.ended or first.ended,
        real_hours=second.real_hours or first.real_hours,
        namespace=second.namespace or first.namespace,
        began=second.began or first.began,
        finished=second.finished or first.finished,
    )


def _distance(run: Entry) -> tuple[int, int, int]:
    return (STATES.index(run.state), int(not run.listed), OUTCOMES.index(run.outcome))
