"""The verdict of a plan: the limits that stand against what a change would start or hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from compiler.project import Project
from compiler.quota.budget import rows_of, spending
from compiler.quota.judging import limits_here, page_of
from compiler.quota.standing import until
from compiler.quota.sums import Claim, summed
from compiler.quota.telling import Told, row_of
from compiler.results import JobResult
from compiler.runs.entries import Entry, Ledger
from compiler.runs.fold import JobDecision, Key

Caused = Callable[[JobDecision], bool]


def planned(
    project: Project,
    decisions: Iterable[JobDecision],
    before: Mapping[Key, Ledger],
    after: Mapping[Key, Ledger],
    results: Mapping[Key, JobResult],
    caused: Caused,
) -> list[dict[str, Any]]:
    """The limits and budgets that the runs of a change pass, as rows of JSON.

    What is active stays first; then come what starts and what is held, in the order of decisions.
    """
    limits = limits_here(project)
    claims: list[Claim] = []
    news: set[tuple[str, str, str]] = set()
    for item in decisions:
        ledger = after.get((item.team, item.book))
        old = before.get((item.team, item.book))
        if ledger is None:
            continue
        was = old.active(item.cluster) if old is not None else None
        # Where one goes on until the next one fits, both are there.
        for run in (ledger.active(item.cluster), ledger.held(item.cluster)):
            if run is None:
                continue
            starts = caused(item) and (was is None or was.number != run.number)
            holds = run.active and not starts
            claims.append(_claim(item, run, results.get((item.team, item.job)), holds))
            if starts:
                news.add((item.cluster, item.team, item.job))
    claims.sort(key=lambda claim: not claim.active)
    spent = spending(project, (page_of(ledger, "") for ledger in before.values()), claims)
    told = Told(project, claims, limits, [], results, spent.purse)
    counted = summed(claims, limits, spent.purse)

    def asked(waiting: Iterable[Claim]) -> bool:
        return any((one.cluster, one.team, one.job) in news for one in waiting)

    rows = [row_of(told, breach) for breach in counted.found() if asked(breach.waiting)]
    teams = {claim.team for claim in counted.overdrawn if asked([claim])}
    return rows + [row for row in rows_of(told, counted, spent) if row["team"] in teams]


def _claim(item: JobDecision, run: Entry, result: JobResult | None, holds: bool) -> Claim:
    model = result.models.get(item.cluster) if result is not None else None
    target = item.target
    owner = next((made.effective.declaration.owner for made in result.runs), "") if result else ""
    same = target is not None and dict(target.demand) == dict(run.accelerators)
    return Claim(
        cluster=item.cluster,
        team=item.team,
        job=item.job,
        path=item.path,
        queue=(model.queue or "") if model is not None else "",
        demand=dict(run.accelerators),
        least=target.least if target is not None and same else None,
        active=holds,
        run=run.name if holds else "",
        until=until(run) if holds else "",
        owner=owner or "",
        seconds=(model.max_duration or 0) if model is not None else 0,
    )
