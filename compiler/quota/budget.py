"""Budgets in words: which runs the accelerator-hours of a team's month leave no room for, and why.

A budget counts over all clusters. What waits for it starts when the month is over, or when runs
have ended sooner than they might.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from msgspec import Struct, field

from compiler.diagnostics import Finding, Place, Related
from compiler.project import Project
from compiler.quota.limits import budgets
from compiler.quota.month import HOUR, Month, Purse, used
from compiler.quota.remembered import Page
from compiler.quota.sums import Claim, Counted
from compiler.quota.telling import MOST, NAMED, Told
from compiler.rules import finding

# How JSON calls what a budget is counted in.
UNIT = "accelerator-hours"


class Spent(Struct):
    """The accelerator-seconds of a team: used by runs that have ended, and the most that each
    active run may use this month, by cluster and name."""

    ended: Fraction = Fraction(0)
    runs: dict[tuple[str, str], Fraction] = field(default_factory=dict[tuple[str, str], Fraction])

    @property
    def whole(self) -> Fraction:
        return self.ended + sum(self.runs.values(), Fraction(0))


class Spending(Struct):
    """What teams have used of a month."""

    month: Month
    hours: dict[str, int]
    teams: dict[str, Spent]

    @property
    def purse(self) -> Purse:
        """The sums alone."""
        spent = {name: own.whole for name, own in self.teams.items()}
        return Purse(self.month, self.hours, spent)


def spending(project: Project, pages: Iterable[Page], claims: Iterable[Claim]) -> Spending:
    """What was used, by teams that have a budget; of active runs, those of `claims` go on.

    Runs on clusters that are not looked at go on as well.
    """
    made = Spending(Month.of(project.at), budgets(project.policy), {})
    on = {(claim.cluster, claim.title) for claim in claims if claim.active}
    only = project.only_cluster
    for page in pages:
        if page.team not in made.hours:
            continue
        own = made.teams.setdefault(page.team, Spent())
        for run in page.runs:
            place = (run.cluster, f"{page.team}/{run.name}")
            looked_at = only in (None, run.cluster)
            goes_on = run.active and (place in on or not looked_at)
            seconds = used(made.month, run, goes_on)
            if goes_on and seconds:
                own.runs[place] = own.runs.get(place, Fraction(0)) + seconds
            else:
                own.ended += seconds
    return made


def overspent(told: Told, counted: Counted, spent: Spending) -> Iterator[Finding]:
    """A notice for each run that nothing but the budget of its team makes wait."""
    for name, claims in _by_team(counted).items():
        for at, claim in enumerate(claims[:MOST]):
            left = len(claims) - MOST if at == MOST - 1 else 0
            yield _waits(told, counted, claim, spent, name, left)


def rows_of(told: Told, counted: Counted, spent: Spending) -> list[dict[str, Any]]:
    """The budgets that runs wait for, as docs/interfaces.md has limits that are passed."""
    made: list[dict[str, Any]] = []
    for name, claims in _by_team(counted).items():
        place = told.project.policy.teams[name].place("budget")
        queues = {claim.queue for claim in claims}
        edits = [edit for claim in told.first(claims) for edit in told.edits(claim)]
        asked = sum(counted.seconds(claim) for claim in claims)
        made.append(
            {
                "cluster": None,
                "team": name,
                "queue": (queues.pop() or None) if len(queues) == 1 else None,
                "accelerator": UNIT,
                "limit": spent.hours[name],
                "limit_at": {"path": place.path, "line": place.line or 1},
                "requested": _up(asked),
                "held": _up(counted.room.spent(name)),
                "holders": _holders(told, counted, spent, name),
                "waiting": [
                    {
                        "job": f"{claim.team}/{claim.job}",
                        "accelerators": _up(counted.seconds(claim)),
                    }
                    for claim in claims
                ],
                "edits": [
                    {"job": edit.job, "field": edit.field, "from": edit.old, "to": edit.new}
                    for edit in edits
                ],
            }
        )
    return made


def _by_team(counted: Counted) -> dict[str, list[Claim]]:
    made: dict[str, list[Claim]] = {}
    for claim in counted.overdrawn:
        made.setdefault(claim.team, []).append(claim)
    return dict(sorted(made.items()))


def _holders(told: Told, counted: Counted, spent: Spending, name: str) -> list[dict[str, Any]]:
    """Those who may use what is not left: active runs, and what starts before the others."""
    active = {(one.cluster, one.title): one for one in counted.holding if one.active}
    rows: list[tuple[Fraction, str, dict[str, Any]]] = []
    for place, seconds in spent.teams.get(name, Spent()).runs.items():
        claim = active.get(place)
        title = place[1]
        row = {
            "job": f"{name}/{claim.job}" if claim is not None else title.rpartition("-r")[0],
            "run": title.partition("/")[2],
            "accelerators": _up(seconds),
            "owner": told.owner(claim) if claim is not None else told.owners(name),
            "until": (claim.until or None) if claim is not None else None,
        }
        rows.append((seconds, title, row))
    for claim in counted.starts:
        seconds = Fraction(counted.seconds(claim))
        if claim.team == name and seconds:
            row = {
                "job": f"{name}/{claim.job}",
                "run": None,
                "accelerators": _up(seconds),
                "owner": told.owner(claim),
                "until": None,
            }
            rows.append((seconds, claim.title, row))
    return [row for _, _, row in sorted(rows, key=lambda one: (-one[0], one[1]))]


def _waits(
    told: Told, counted: Counted, claim: Claim, spent: Spending, name: str, left: int
) -> Finding:
    team, model = told.project.policy.teams[name], told.model(claim)
    place = Place.start(claim.path)
    if model is not None:
        place = model.origins.place(("max_duration",))
        place = place if place.path == claim.path else model.origins.anchor
    holders = _holders(told, counted, spent, name)
    named = ", ".join(
        f"{name}/{one['run']} ({one['accelerators']})"
        if one["run"]
        else f"{one['job']} ({one['accelerators']})"
        for one in holders[:NAMED]
    )
    named += f" and {len(holders) - NAMED} more" if len(holders) > NAMED else ""
    ended = spent.teams.get(name, Spent()).ended
    parts = [f"{_up(ended)} by runs that have ended" if ended else "", named]
    taken = f"{_up(counted.room.spent(name))} are used or may be"
    who = ", ".join(part for part in parts if part)
    edits = " or ".join(f"`{edit.text}`" for edit in told.edits(claim))
    return finding(
        "waits-for-budget",
        place,
        f"the run may use {_up(counted.seconds(claim))} accelerator-hours in "
        f"{spent.month.start:%B %Y}; of the {spent.hours[name]} of the team {name}, {taken}"
        + (f": {who}" if who else "")
        + "; publish holds it until there are enough"
        + (f" ({left} more jobs wait)" if left > 0 else ""),
        f"now would fit: {edits}"
        if edits
        else "nothing smaller would fit now: it waits for runs to end sooner, or for next month",
        [Related(team.place("budget"), "the team's budget of a month")],
    )


def _up(seconds: Fraction | int) -> int:
    """Whole hours, rounded up."""
    return int(-(-seconds // HOUR))
