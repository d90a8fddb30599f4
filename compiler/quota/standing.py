"""What each job's runs come to, with the ledger at hand: which hold now, and which would start.

The answer is the engine's own: what publish would do with endless room. So a training that has
ended asks for nothing, a run that is replaced gives back what it holds, and one that an error
stands against goes on as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction

from compiler.diagnostics import Finding
from compiler.memory import Judged
from compiler.project import Project
from compiler.quota.month import HOUR, later
from compiler.quota.sums import Claim
from compiler.results import JobResult
from compiler.runs import gathering
from compiler.runs.declared import Declared, Facts, Key
from compiler.runs.entries import Entry, Ledger
from compiler.runs.fold import Outcome, fold
from compiler.runs.room import Room
from compiler.runs.sameness import today_digests


def stand(
    project: Project,
    jobs: Sequence[Judged],
    ledgers: Mapping[Key, Ledger],
    errors: Mapping[str, list[Finding]],
    beyond: Mapping[Key, Sequence[Claim]],
) -> dict[Key, list[Claim]]:
    """The claims of jobs that the ledger knows, by team and name.

    `errors` are those of the repository by path: where one stands against a declaration, nothing of
    it starts. `beyond` are the claims of jobs that only their team's quota refuses.
    """
    declared: list[Declared] = []
    results: dict[Key, JobResult] = {}
    for job in jobs:
        path = project.repository.root / job.path
        result = project.judge(path)
        key = (job.team, job.job)
        results[key] = result
        declared.append(gathering.declared_of(key, result, project, _nobody, errors))
    known = _concerned(ledgers, declared)
    facts = Facts(project.at, "", halted=gathering.unread_stop(project))
    outcome = fold(
        known,
        declared,
        (),
        gathering.stops(project),
        Room({}),
        facts,
        today_digests(project, results, known),
    )
    refused = {(*key, claim.cluster): claim for key, own in beyond.items() for claim in own}
    return _claims(outcome, known, results, refused)


def _nobody(path: str) -> int:
    return 0


def _concerned(ledgers: Mapping[Key, Ledger], declared: Iterable[Declared]) -> dict[Key, Ledger]:
    """The ledgers of these jobs, under whichever name they stand."""
    names = {job.key for job in declared}
    names |= {(job.team, job.was) for job in declared if job.was}
    return {
        key: ledger
        for key, ledger in ledgers.items()
        if key in names or any((key[0], name) in names for name in ledger.also)
    }


def _claims(
    outcome: Outcome,
    before: Mapping[Key, Ledger],
    results: Mapping[Key, JobResult],
    refused: Mapping[tuple[str, str, str], Claim],
) -> dict[Key, list[Claim]]:
    now = {
        (key, run.number): run
        for key, ledger in before.items()
        for run in ledger.runs
        if run.active
    }
    made: dict[Key, list[Claim]] = {key: [] for key in results}
    for item in outcome.decisions:
        key, book = (item.team, item.job), (item.team, item.book)
        ledger = outcome.ledgers.get(book)
        run = ledger.active(item.cluster) if ledger is not None else None
        if key not in results:
            continue
        if run is None:
            # It would start, and stands against its team's quota alone.
            beyond = refused.get((*key, item.cluster))
            if beyond is not None and item.decision.action == "blocked":
                made[key].append(beyond)
            continue
        result = results[key]
        stays = (book, run.number) in now
        model = result.models.get(item.cluster)
        owner = next((r.effective.declaration.owner for r in result.runs), None)
        target = item.target
        same = target is not None and dict(target.demand) == dict(run.accelerators)
        made[key].append(
            Claim(
                cluster=item.cluster,
                team=item.team,
                job=item.job,
                path=item.path,
                queue=(model.queue or "") if model is not None else "",
                demand=dict(run.accelerators),
                least=target.least if target is not None and same else None,
                active=stays,
                run=run.name if stays else "",
                until=until(run) if stays else "",
                owner=owner or "",
                seconds=(model.max_duration or 0) if model is not None else 0,
            )
        )
    return made


def until(run: Entry) -> str:
    """The latest end of a run, RFC 3339; '' where it has no limit or its start is not known.

    Its time runs from its start over all its tries: see docs/quota.md. The ledger keeps it as
    accelerator-hours.
    """
    held = sum(run.accelerators.values())
    if run.started is None or not run.declared_hours or not held:
        return ""
    try:
        start = datetime.fromisoformat(run.started.at)
        seconds = Fraction(run.declared_hours) * HOUR / held
    except (ValueError, ZeroDivisionError):
        return ""
    return later(start, seconds).astimezone(UTC).isoformat() if start.tzinfo is not None else ""
