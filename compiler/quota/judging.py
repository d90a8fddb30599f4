"""A verdict from the start: claims out of declarations and ledgers, their sums, and the words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from compiler.diagnostics import CompilerError, Finding, Place, Related
from compiler.memory import Checked, Judged, RunSummary
from compiler.project import Project
from compiler.quota.budget import overspent, rows_of, spending
from compiler.quota.collisions import collisions
from compiler.quota.limits import ClusterLimits, limits_of
from compiler.quota.month import use_of
from compiler.quota.remembered import Page, asked_of, content
from compiler.quota.standing import stand
from compiler.quota.sums import Claim, summed
from compiler.quota.telling import Told, findings_of, row_of
from compiler.rules import finding
from compiler.runs import gathering
from compiler.runs.declared import Key
from compiler.runs.entries import Ledger
from compiler.runs.ledgerfile import parse
from compiler.runs.mentions import Book, doubted
from compiler.weights import everywhere

# So many more runs are shown with their place.
RELATED = 10


def judged(
    project: Project,
    checked: Checked,
    stamps: Mapping[str, str],
    known: dict[str, Page],
    wanted: Sequence[str],
) -> tuple[list[Finding], list[dict[str, Any]]]:
    """What the verdict finds, and the limits that are passed as rows of JSON.

    `known` is what an earlier verdict read of the ledgers; it is brought up to date.
    """
    limits = limits_here(project)
    asked = _Claims(project, checked, stamps, known)
    claims = asked.all()
    pages = {path: known[path] for path in stamps}
    spent = spending(project, pages.values(), claims)
    counted = summed(claims, limits, spent.purse)
    found = list(counted.found())
    if found or counted.overdrawn:
        # Only now the order matters.
        claims = _in_order(project, claims)
        counted = summed(claims, limits, spent.purse)
        found = list(counted.found())
    told = Told(project, claims, limits, wanted, purse=spent.purse)
    rows = [row_of(told, breach) for breach in found] + rows_of(told, counted, spent)
    findings = [*findings_of(told, found), *overspent(told, counted, spent)]
    findings += _without_policy(project, pages)
    books = dict(_book(path, page) for path, page in pages.items())
    findings += doubted(project, checked.jobs, books)
    findings += collisions(project, checked.jobs, pages, asked.ledger)
    teams = {job.path: job.team for job in checked.jobs}
    return everywhere(findings, teams, project.policy), rows


def _book(path: str, page: Page) -> tuple[Key, Book]:
    """The ledger of a path, by the names of its job: what cannot be read has that of its file."""
    if page.job:
        started = frozenset(run.number for run in page.runs)
        return (page.team, page.job), Book(tuple(page.also), started)
    team, name = path.removesuffix(".yaml").split("/")[-2:]
    return (team, name), Book((), None)


def limits_here(project: Project) -> dict[str, ClusterLimits]:
    """The limits of the clusters that are looked at."""
    only = project.only_cluster
    made = limits_of(project.policy)
    return {name: limits for name, limits in made.items() if only in (None, name)}


def _in_order(project: Project, claims: list[Claim]) -> list[Claim]:
    """What holds already, then the jobs by the commit that last changed them, then by path.

    That is the order in which publish gives room. What no commit has yet comes last.
    """
    from compiler.runs.decisions import ranks
    from compiler.runs.git import Git

    try:
        git = Git(project.repository.root)
        head = git.known("HEAD")
        if head is None:
            return claims
        order = ranks(git, head)
        where = f":(top,literal){git.prefix}jobs"
        changed = git.text("diff", "--name-only", "--no-renames", "-z", "HEAD", "--", where)
    except CompilerError:
        return claims
    edited = {path.removeprefix(git.prefix) for path in changed.split("\0")}

    def turn(claim: Claim) -> tuple[bool, int, str]:
        # A file that no commit has yet, or not as it is, is as if the next commit brought it.
        rank = order("") if claim.path in edited else order(claim.path)
        return (not claim.active, rank, claim.path)

    return sorted(claims, key=turn)


class _Claims:
    def __init__(
        self, project: Project, checked: Checked, stamps: Mapping[str, str], known: dict[str, Page]
    ) -> None:
        self.project = project
        self.checked = checked
        self.stamps = stamps
        self.known = known
        self.errors = gathering.errors_by_path(checked.findings)
        self._ledgers: dict[Key, Ledger] = {}

    def all(self) -> list[Claim]:
        """The claims of all jobs: what runs holds already, then the rest by path."""
        self._read(path for path in self.stamps if path not in self.known or self._old(path))
        home = {
            (page.team, name): path
            for path, page in self.known.items()
            if path in self.stamps
            for name in (page.job, *page.also)
        }
        by_ledger = self._of_ledgers(home)
        made: list[Claim] = []
        stopped = self._stopped_teams()
        halted = bool(gathering.unread_stop(self.project))
        for job in self.checked.jobs:
            key = (job.team, job.job)
            if key in by_ledger:
                made += by_ledger[key]
            elif not halted and job.team not in stopped and self._starts(job):
                made += [_claim(run, job.path) for run in job.runs if not run.stopped]
            elif not halted and job.team not in stopped:
                made += _beyond(job)
        only = self.project.only_cluster
        made = [claim for claim in made if only in (None, claim.cluster)]
        return sorted(made, key=lambda claim: not claim.active)

    def ledger(self, path: str) -> Ledger | None:
        """The ledger of a path; None for one that cannot be read."""
        if not self._has(path):
            self._read([path])
        page = self.known[path]
        return self._ledgers.get((page.team, page.job))

    def _starts(self, job: Judged) -> bool:
        """Whether nothing about the whole file keeps its runs from starting."""
        if any(item.rule == "expired-declaration" for item in job.findings):
            return False
        return job.path not in self.errors

    def _stopped_teams(self) -> set[str]:
        return {stop.team for stop in gathering.stops(self.project) if stop.team is not None}

    def _old(self, path: str) -> bool:
        return self.known[path].stamp != self.stamps[path]

    def _read(self, paths: Iterable[str]) -> None:
        for path in paths:
            ledger, _ = parse(path, content(self.project.repository, path))
            if ledger is None:
                self.known[path] = Page(self.stamps[path], "", "", [], [])
                continue
            self._ledgers[ledger.team, ledger.job] = ledger
            self.known[path] = page_of(ledger, self.stamps[path])

    def _of_ledgers(self, home: Mapping[Key, str]) -> dict[Key, list[Claim]]:
        """The claims of jobs that the ledger knows; only what has changed is asked again."""
        image_stop = any(stop.image for stop in gathering.stops(self.project))
        made: dict[Key, list[Claim]] = {}
        unknown: list[Judged] = []
        asked: dict[Key, tuple[str, str]] = {}
        for job in self.checked.jobs:
            key, former = (job.team, job.job), (job.team, job.was)
            path = home.get(key) or home.get(former)
            if path is None and not image_stop:
                continue
            errors = " ".join(item.code for item in self.errors.get(job.path, ()))
            asks = f"{self.checked.context} {asked_of(job)} {errors}"
            page = self.known[path] if path is not None else None
            if page is not None and page.asked == asks:
                made[key] = [msgspec.convert(row, Claim) for row in page.claims]
                continue
            unknown.append(job)
            asked[key] = (path or "", asks)
        if not unknown:
            return made
        self._read({path for path in home.values() if not self._has(path)})
        beyond = {(job.team, job.job): _beyond(job) for job in unknown}
        stood = stand(self.project, unknown, self._ledgers, self.errors, beyond)
        for key, claims in stood.items():
            made[key] = claims
            path, asks = asked[key]
            if path:
                page = self.known[path]
                page.asked, page.claims = asks, [msgspec.to_builtins(claim) for claim in claims]
        return made

    def _has(self, path: str) -> bool:
        page = self.known[path]
        return (page.team, page.job) in self._ledgers


def _claim(run: RunSummary, path: str) -> Claim:
    return Claim(
        cluster=run.cluster,
        team=run.team,
        job=run.job,
        path=path,
        queue=run.queue,
        demand=run.demand,
        least=run.least,
        owner=run.owner,
        seconds=run.seconds,
    )


def _beyond(job: Judged) -> list[Claim]:
    """What its runs would hold, were they not refused for their team's quota alone."""
    return [replace(_claim(run, job.path), refused=True) for run in job.refused if not run.stopped]


def page_of(ledger: Ledger, stamp: str) -> Page:
    """What of a ledger is asked again at each verdict."""
    uses = [use_of(run) for run in ledger.runs if run.launched]
    return Page(stamp, ledger.team, ledger.job, list(ledger.also), uses)


def _without_policy(project: Project, known: Mapping[str, Page]) -> Iterable[Finding]:
    """Active runs of teams and on clusters that policy no longer knows."""
    policy = project.policy
    teams = {*policy.teams, *map(_stem, policy.broken)}
    clusters = {*policy.clusters, *map(_stem, policy.broken)}
    lost: dict[str, list[tuple[str, str]]] = {}
    for path, page in sorted(known.items()):
        for run in page.runs:
            if not run.active or (page.team in teams and run.cluster in clusters):
                continue
            gone = f"policy/teams/{page.team}.yaml" if page.team not in teams else ""
            gone = gone or f"policy/clusters/{run.cluster}.yaml"
            lost.setdefault(gone, []).append(
                (path, f"{page.team}/{run.name} runs on {run.cluster}")
            )
    for gone, found in sorted(lost.items()):
        (path, said), others = found[0], found[1:]
        # One file is missing, however many runs it is missed by.
        more = f" ({len(others)} more runs with it)" if others else ""
        yield finding(
            "active-run-without-policy",
            Place.start(path),
            f"{said}, and {gone} is gone{more}",
            f"bring {gone} back until no run needs it, or stop the runs first"
            if others
            else f"bring {gone} back until the run has ended, or stop the run first",
            [Related(Place.start(other), said) for other, said in others[:RELATED]],
        )


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".yaml")
