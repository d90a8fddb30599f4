"""What was seen in a cluster: which runs are there, which have ended, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from compiler.runs.entries import Entry, Ledger, Moment

Seen = Literal["running", "succeeded", "failed"]


@dataclass(frozen=True, slots=True)
class Observed:
    """One run in the cluster. `seconds` is how long it ran; `hours` its accelerator-hours."""

    outcome: Seen
    seconds: int | None = None
    hours: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """What `archive` saw on one cluster. Absent is not finished: it only ends the listing of a run
    that is known to have ended, and only where the observation is `complete`."""

    cluster: str
    at: str
    complete: bool
    runs: Mapping[tuple[str, str], Observed]
    """By namespace and object name."""


def observe(
    ledger: Ledger, observation: Observation, namespace: str, now: datetime, keep: timedelta
) -> Ledger:
    """The ledger with what an observation tells about its runs.

    An active run seen ended becomes ended; a run that ended on its own stays listed for `keep`
    after its end, or until a complete observation no longer finds it.
    """
    for run in ledger.on(observation.cluster):
        seen = observation.runs.get((namespace, run.name))
        changed = _told(run, seen, observation)
        if changed is not run:
            ledger = ledger.with_run(changed)
    return unlisted(ledger, observation, namespace, now, keep)


def _told(run: Entry, seen: Observed | None, observation: Observation) -> Entry:
    if seen is None or seen.outcome == "running" or not run.launched:
        return run
    if run.state == "active":
        ended = run.end(
            "finished", seen.outcome, Moment(observation.at, by="observation"), listed=True
        )
        return replace(ended, real_hours=seen.hours or run.real_hours)
    # A run that publish ended may turn out to have come to its own end first.
    if run.outcome in ("unknown", "incomplete") and run.started and run.ended:
        return replace(run, outcome=seen.outcome, real_hours=seen.hours or run.real_hours)
    return run


def unlisted(
    ledger: Ledger,
    observation: Observation | None,
    namespace: str,
    now: datetime,
    keep: timedelta,
) -> Ledger:
    """The ledger without the listing of runs that ended long ago, or that are gone."""
    for run in ledger.runs:
        if run.state != "ended" or not run.listed or run.ended is None:
            continue
        gone = (
            observation is not None
            and observation.complete
            and observation.cluster == run.cluster
            and (namespace, run.name) not in observation.runs
        )
        if gone or _time(run.ended.at) + keep <= now:
            ledger = ledger.with_run(replace(run, listed=False))
    return ledger


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
