"""The accelerator-hours of a month: what runs have used of it, and may use yet at the most.

Months are those of UTC. Sums are accelerator-seconds, whole ones or exact fractions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from hashlib import sha256

from msgspec import Struct, field

from compiler.quota.limits import accelerators
from compiler.runs.entries import Entry

HOUR = 3600
# Nothing that a date can say is later.
_END = datetime.max.replace(tzinfo=UTC)


class Use(Struct):
    """One launched run: when it was there and what it held. Times are RFC 3339, '' for none.

    `declared` is the digest of the declaration that an active run was started with.
    """

    number: int
    name: str
    cluster: str
    active: bool
    started: str
    ended: str
    demand: dict[str, int]
    declared_hours: str
    real_hours: str
    finished: bool
    declared: str = ""


def use_of(run: Entry) -> Use:
    """What of a launched run the sums ask for."""
    return Use(
        number=run.number,
        name=run.name,
        cluster=run.cluster,
        active=run.active,
        started=run.started.at if run.started is not None else "",
        ended=run.ended.at if run.ended is not None else "",
        demand=dict(run.accelerators),
        declared_hours=run.declared_hours,
        real_hours=run.real_hours,
        finished=run.reason == "finished",
        declared=sha256(run.declared.encode()).hexdigest() if run.active else "",
    )


class Month(Struct, frozen=True):
    """A month, by its first moment and that of the next one, and the moment that it is now."""

    start: datetime
    end: datetime
    now: datetime

    @classmethod
    def of(cls, at: datetime) -> Month:
        """The month of a moment. What starts is counted from the beginning of its day on, so that
        all answers of a day are the same."""
        now = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        start = now.replace(day=1)
        last = (now.year, now.month) == (_END.year, _END.month)
        return cls(start, _END if last else (start + timedelta(days=32)).replace(day=1), now)

    def seconds(self, start: datetime, end: datetime) -> Fraction:
        """How much of a stretch of time lies in the month."""
        inside = min(end, self.end) - max(start, self.start)
        return max(Fraction(0), _seconds(inside))


class Purse(Struct, frozen=True):
    """What teams may use in a month, in accelerator-hours, and what their runs have used.

    `spent` are the accelerator-seconds of runs that have ended, and the most that those which are
    active may come to, by team.
    """

    month: Month
    hours: Mapping[str, int] = field(default_factory=dict[str, int])
    spent: Mapping[str, Fraction] = field(default_factory=dict[str, Fraction])


def used(month: Month, run: Use, goes_on: bool) -> Fraction:
    """The accelerator-seconds of a run in the month, at the most for one that `goes_on`.

    Real hours where they were observed, spread evenly over the time that it ran; else the time
    that it was there, and no more than it declared. Runs without accelerators use none.
    """
    count = accelerators(run.demand)
    start = _time(run.started)
    if not count or start is None:
        return Fraction(0)
    declared = _hours(run.declared_hours)
    end = _time(run.ended) or month.now
    if run.active:
        end = month.end if goes_on else month.now
    if declared is not None:
        limit = declared * HOUR / sum(run.demand.values())
        end = min(end, later(start, limit))
    inside, whole = month.seconds(start, end), _seconds(end - start)
    real = _hours(run.real_hours)
    if real is not None and not run.active:
        return real * HOUR * inside / whole if whole > 0 else Fraction(0)
    return inside * count


def yet(month: Month, demand: Mapping[str, int], seconds: int) -> int:
    """The accelerator-seconds that a run may use this month, if it starts now; `seconds` is the
    longest that it may run, 0 for no limit."""
    count = accelerators(demand)
    left = (month.end - month.now) // timedelta(seconds=1)
    return count * (min(seconds, left) if seconds else left)


def together(month: Month, uses: Iterable[Use]) -> Fraction:
    """The accelerator-seconds of runs of which all that are active go on."""
    return sum((used(month, run, run.active) for run in uses), Fraction(0))


def later(start: datetime, seconds: Fraction) -> datetime:
    """So many seconds, rounded up, after a moment; the end of all time where that is beyond it."""
    whole = -(-seconds.numerator // seconds.denominator)
    try:
        return start + timedelta(seconds=whole)
    except OverflowError:
        return _END if whole > 0 else start


def _hours(text: str) -> Fraction | None:
    try:
        return Fraction(text) if text else None
    except (ValueError, ZeroDivisionError):
        return None


def _time(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _seconds(span: timedelta) -> Fraction:
    return Fraction(span // timedelta(microseconds=1), 1_000_000)
