"""What was seen in a cluster: which runs are there, which have ended, and how."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from compiler.runs.entries import OUTCOMES, Entry, Ledger, Moment

Seen = Literal["running", "incomplete", "succeeded", "failed"]


class Observed(Struct, frozen=True):
    """One run in the cluster. `seconds` is how long it ran; `hours` its accelerator-hours.

    `incomplete` is what a person says of a run that publish ended: it had more to do. `began` and
    `finished` are RFC 3339 times, '' where they are not known.
    """

    outcome: Seen
    seconds: int | None = None
    hours: str = ""
    began: str = ""
    finished: str = ""


class Observation(Struct, frozen=True):
    """What `archive` saw on one cluster. Absent is not finished: it only ends the listing of a run
    that is known to have ended, and only where the observation is `complete`."""

    cluster: str
    at: str
    complete: bool
    runs: Mapping[tuple[str, str], Observed]
    """By namespace and object name."""

    @property
    def time(self) -> datetime:
        """When it was made."""
        return datetime.fromisoformat(self.at)


def observe(ledger: Ledger, observation: Observation, namespace: str) -> Ledger:
    """The ledger with what an observation tells about its runs.

    An active run seen ended becomes ended, and stays listed until a complete observation no longer
    finds it, or for a while: see `unlisted`. A run is looked for where it was published;
    `namespace` is its team's today, for a run of which that is not known.
    """
    for run in ledger.on(observation.cluster):
        seen = observation.runs.get((run.namespace or namespace, run.name))
        changed = _told(run, seen, observation)
        if changed is not run:
            ledger = ledger.with_run(changed)
        # An observation from before its end does not tell that it is gone.
        if (
            observation.complete
            and seen is None
            and changed.state == "ended"
            and changed.listed
            and changed.ended is not None
            and _time(changed.ended.at) < observation.time
        ):
            ledger = ledger.with_run(replace(changed, listed=False))
    return ledger


def _told(run: Entry, seen: Observed | None, observation: Observation) -> Entry:
    if seen is None or not run.launched:
        return run
    if not run.began and seen.began:
        run = replace(run, began=seen.began)
    if seen.outcome == "running":
        return run
    if run.state == "active":
        if seen.outcome == "incomplete":
            return run
        ended = run.end(
            "finished", seen.outcome, Moment(observation.at, by="observation"), listed=True
        )
        return _measured(ended, seen)
    # A run that publish ended may turn out to have come to its own end first.
    if OUTCOMES.index(run.outcome) < OUTCOMES.index(seen.outcome) and run.reason != "finished":
        return _measured(replace(run, outcome=seen.outcome), seen)
    return run


def _measured(run: Entry, seen: Observed) -> Entry:
    hours, finished = seen.hours or run.real_hours, seen.finished or run.finished
    return replace(run, real_hours=hours, finished=finished)


def unlisted(ledger: Ledger, now: datetime, keep: timedelta) -> Ledger:
    """The ledger without the listing of runs that came to their end longer than `keep` ago."""
    for run in ledger.runs:
        if run.state != "ended" or not run.listed or run.ended is None:
            continue
        if _time(run.ended.at) + keep <= now:
            ledger = ledger.with_run(replace(run, listed=False))
    return ledger


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
