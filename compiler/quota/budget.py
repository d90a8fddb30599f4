"""Accelerator-hours of a month: what was used, and what may be used yet at the most.

Months are those of UTC. Sums are whole accelerator-seconds and exact fractions of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from msgspec import Struct, field

from compiler.diagnostics import Finding, Place, Related
from compiler.quota.limits import CPU
from compiler.quota.remembered import Page, Use
from compiler.quota.sums import Claim
from compiler.quota.telling import MOST, NAMED, Told
from compiler.rules import finding


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
        return cls(start, (start + timedelta(days=32)).replace(day=1), now)

    def seconds(self, start: datetime, end: datetime) -> Fraction:
        """How much of a stretch of time lies in the month."""
        inside = min(end, self.end) - max(start, self.start)
        return max(Fraction(0), _seconds(inside))


class Spent(Struct):
    """The accelerator-hours of a team: used by runs that have ended, and the most that each active
    run may use this month, by its name. `starts` are accelerator-seconds of runs that start now,
    `starting` is their sum."""

    ended: Fraction
    runs: dict[str, Fraction]
    starts: dict[str, int] = field(default_factory=dict[str, int])
    starting: int = 0

    @property
    def before(self) -> Fraction:
        """Without what starts now."""
        return self.ended + sum(self.runs.values(), Fraction(0))


def used(month: Month, run: Use, goes_on: bool) -> Fraction:
    """The accelerator-hours of a run in the month, at the most for one that `goes_on`.

    Real hours where they were observed, spread evenly over the time that it ran; else the time
    that it was there, and no more than it declared. Runs without accelerators use none.
    """
    count = sum(number for name, number in run.demand.items() if name != CPU)
    start = _time(run.started)
    if not count or start is None:
        return Fraction(0)
    declared = _hours(run.declared_hours)
    end = _time(run.ended) or month.now
    if run.active:
        end = month.end if goes_on else month.now
    if declared is not None:
        limit = declared * 3600 / sum(run.demand.values())
        end = min(end, start + timedelta(seconds=-(-limit.numerator // limit.denominator)))
    inside, whole = month.seconds(start, end), _seconds(end - start)
    real = _hours(run.real_hours)
    if real is not None and not run.active:
        return real * inside / whole if whole > 0 else Fraction(0)
    return inside * count / 3600


def yet(month: Month, claim: Claim) -> int:
    """The accelerator-seconds that a run may use this month, if it starts now."""
    count = sum(number for name, number in claim.demand.items() if name != CPU)
    left = (month.end - month.now) // timedelta(seconds=1)
    return count * (min(claim.seconds, left) if claim.seconds else left)


def overspent(told: Told, starts: Iterable[Claim], pages: Iterable[Page]) -> Iterator[Finding]:
    """Runs that would start and with which their team may pass its budget of the month.

    `starts` are those with room, in the order of their turns. What waits uses nothing yet: it is
    asked about when it starts.
    """
    month = Month.of(told.project.at)
    on = {(claim.cluster, claim.title) for claim in told.claims if claim.active}
    spent = _spent(month, pages, on)
    # What is left of a budget is whole accelerator-seconds, and so is what a start may use.
    left: dict[str, int] = {}
    for name, team in told.project.policy.teams.items():
        if team.value.budget is not None:
            own = spent.setdefault(name, Spent(Fraction(0), {}))
            rest = (team.value.budget - own.before) * 3600
            left[name] = rest.numerator // rest.denominator
    passed: dict[str, list[tuple[Claim, int]]] = {}
    for claim in starts:
        if claim.team not in left:
            continue
        own, more = spent[claim.team], yet(month, claim)
        if more and own.starting + more > left[claim.team]:
            passed.setdefault(claim.team, []).append((claim, more))
        else:
            own.starting += more
            own.starts[claim.title] = own.starts.get(claim.title, 0) + more
    for name, claims in passed.items():
        yield from _findings(told, name, claims, spent[name], month)


def _findings(
    told: Told,
    name: str,
    claims: Sequence[tuple[Claim, int]],
    spent: Spent,
    month: Month,
) -> Iterator[Finding]:
    team = told.project.policy.teams[name]
    own = {**spent.runs, **{title: Fraction(part, 3600) for title, part in spent.starts.items()}}
    holders = sorted(own.items(), key=lambda item: (-item[1], item[0]))
    total = spent.before + Fraction(spent.starting, 3600)
    named = ", ".join(f"{title} ({_up(hours)})" for title, hours in holders[:NAMED])
    rest = len(holders) - NAMED
    named += f" and {rest} more" if rest > 0 else ""
    for at, (claim, more) in enumerate(claims[:MOST]):
        left = len(claims) - MOST if at == MOST - 1 else 0
        model = told.model(claim)
        place = Place.start(claim.path)
        if model is not None:
            place = model.origins.place(("max_duration",))
            place = place if place.path == claim.path else model.origins.anchor
        taken = f"{_up(total)} are used or may be"
        taken += f": {_up(spent.ended)} by runs that have ended" if spent.ended else ""
        taken += f"{',' if spent.ended else ':'} {named}" if named else ""
        hours = _up(Fraction(more, 3600))
        yield finding(
            "budget-passed",
            place,
            f"the run may use {hours} accelerator-hours in {month.start:%B %Y}; of the "
            f"{team.value.budget} of the team {name}, {taken}"
            + (f" ({left} more runs pass it)" if left > 0 else ""),
            "ask for less, start it next month, or raise the budget",
            [Related(team.place("budget"), "the team's budget of a month")],
        )


def _spent(
    month: Month, pages: Iterable[Page], on: AbstractSet[tuple[str, str]]
) -> dict[str, Spent]:
    """What each team has used; `on` are the runs that go on, by cluster and name."""
    made: dict[str, Spent] = {}
    for page in pages:
        own = made.setdefault(page.team, Spent(Fraction(0), {}))
        for run in page.runs:
            title = f"{page.team}/{run.name}"
            goes_on = run.active and (run.cluster, title) in on
            hours = used(month, run, goes_on)
            if goes_on and hours:
                own.runs[title] = own.runs.get(title, Fraction(0)) + hours
            else:
                own.ended += hours
    return made


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


def _up(hours: Fraction) -> str:
    """Hours as a whole number, rounded up."""
    return str(-(-hours.numerator // hours.denominator))
