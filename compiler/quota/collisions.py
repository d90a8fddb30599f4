"""Active runs that share a folder or a volume with what is declared, and are declared no more.

A run keeps the declaration that it was started with. Where its file has changed since, or is gone,
the rules about two jobs do not see it: what it writes is asked of the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from compiler.diagnostics import Finding, Place, Related
from compiler.memory import Judged, RunSummary
from compiler.project import Project
from compiler.quota.remembered import Page
from compiler.results import Ask, summarised
from compiler.rules import finding
from compiler.runs.declared import Key
from compiler.runs.entries import Entry, Ledger

Shared = tuple[str, str, str, str]
"""What two runs share: cluster, namespace, `folder` or `claim`, and its name."""


def collisions(
    project: Project,
    jobs: Sequence[Judged],
    pages: Mapping[str, Page],
    ledger: Callable[[str], Ledger | None],
) -> Iterator[Finding]:
    """A warning for each declaration that shares something with another job's active run.

    `ledger` gives the ledger of a path; it is asked only for those with a run that is no longer
    what is declared.
    """
    old: dict[Shared, tuple[Key, str, str]] = {}
    named = {(job.team, name): job for job in jobs for name in (job.job, job.was) if name}
    for path, page in sorted(pages.items()):
        own = [
            job
            for name in (page.job, *page.also)
            if (job := named.get((page.team, name))) is not None
        ]
        digests = {job.digest for job in own}
        numbers = {use.number for use in page.runs if use.active and use.declared not in digests}
        book = ledger(path) if numbers else None
        if book is None:
            continue
        # Of what it still declares, the rules about two jobs tell.
        seen = {
            shared for job in own for one in job.runs if not one.stopped for shared in _shared(one)
        }
        for run in book.runs:
            if run.number in numbers:
                for shared in _shared(_summary(project, page, run)).keys() - seen:
                    old.setdefault(shared, ((page.team, page.job), run.name, path))
    if not old:
        return
    homes = {
        (page.team, name): (page.team, page.job)
        for page in pages.values()
        for name in (page.job, *page.also)
    }
    for job in jobs:
        key = (job.team, job.job)
        mine = {key, homes.get(key), homes.get((job.team, job.was))}
        for run in job.runs:
            for shared, place in () if run.stopped else _shared(run).items():
                holder = old.get(shared)
                if holder is not None and holder[0] not in mine:
                    yield _told(project, shared, place, f"{holder[0][0]}/{holder[1]}", holder[2])


def _summary(project: Project, page: Page, run: Entry) -> RunSummary | None:
    """What an active run was started as; None where that cannot be read any more."""
    path = project.repository.root / "jobs" / page.team / f"{page.job}.yaml"
    ask = Ask(run.number, run.lineage, run.checkpoint_dir)
    result = project.judge(path, run.declared.encode(), {run.cluster: ask})
    return next((one for one in summarised(result).runs if one.cluster == run.cluster), None)


def _shared(run: RunSummary | None) -> dict[Shared, list[Any]]:
    if run is None:
        return {}
    made: dict[Shared, list[Any]] = {}
    for kind, places in (("folder", run.writes), ("claim", run.claims)):
        for name, place in places.items():
            made[run.cluster, run.namespace, kind, name] = place
    return made


def _told(project: Project, shared: Shared, place: list[Any], title: str, path: str) -> Finding:
    cluster, _, kind, name = shared
    at = Related(Place.start(path), f"{title}, which is no longer what is declared")
    if kind == "folder":
        claim, _, folder = name.partition("/")
        return finding(
            "output-of-two-runs",
            Place(*place),
            f"`{title}`, which is active, writes to /{folder} of the claim `{claim}` too",
            "give each job a folder of its own, or wait until that run has ended",
            [at],
        )
    document = project.policy.clusters[cluster]
    access = (document.value.claims or {})[name].access
    return finding(
        "claim-of-two-runs",
        Place(*place),
        f"`{title}`, which is active, mounts `{name}` too, and it is {access}",
        "take a claim with ReadWriteMany, or wait until that run has ended",
        [at, Related(document.place("claims", name, "access"), "the claim")],
    )
