"""From the tree of a commit to its decisions: what `plan` and `publish` have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from compiler import __version__
from compiler.project import Project
from compiler.repository import Repository
from compiler.runs import gathering
from compiler.runs.adoption import with_adopted
from compiler.runs.books import Books
from compiler.runs.entries import Ledger
from compiler.runs.fold import Facts, JobDecision, Key, Outcome, fold
from compiler.runs.git import Git
from compiler.runs.observations import Observation
from compiler.runs.reverts import pure_revert
from compiler.runs.sameness import today_digests

KEEP = timedelta(hours=72)


class Request(Struct, frozen=True):
    """What a publish was asked for; None where the repository decides."""

    source: str | None = None
    remote: str = "origin"
    branch: str | None = None
    new_branch: bool = False
    push: bool = True
    dry_run: bool = False
    observations: Sequence[Observation] = ()
    allow_stops: int | None = None
    reset: frozenset[str] = frozenset()


def project_of(at_source: Repository, here: Repository, at: datetime) -> Project:
    """The project of an extracted tree, with the caches of the clone that it is from."""
    # The caches of the clone serve the extracted tree too: they go by content.
    at_source.__dict__["cache"] = here.cache
    return Project(at_source, at=at)


def folded(
    project: Project,
    git: Git,
    books: Books,
    source: str,
    request: Request,
    at: datetime,
    *,
    guarded: bool = True,
    before: gathering.Gathered | None = None,
) -> tuple[Outcome, gathering.Gathered]:
    """The decisions for the tree of a project, over these ledgers.

    Without `guarded` the stop guard is not asked. `before` is what is declared in another tree.
    """
    gathered = gathering.gather(project, ranks(git, source), books.ledgers, before)
    rules = project.policy.rules.value if project.policy.rules else None
    keep = timedelta(seconds=rules.keep_finished) if rules and rules.keep_finished else KEEP
    facts = Facts(
        now=git.time(source) if source else at,
        clock=at,
        source=source,
        keep=keep,
        compiler=__version__,
        bases=_bases(project, gathered),
        reset=request.reset,
        namespaces={name: team.value.namespace for name, team in project.policy.teams.items()},
        halted=gathering.unread_stop(project),
    )
    ledgers, gathered.declared = with_adopted(project, books.ledgers, gathered.declared, facts)

    def quiet(other: Git, commit: str) -> bool:
        """Whether that commit would stop nothing, were it published in the place of this one."""
        with other.checkout(commit) as folder:
            there = project_of(Repository(folder), project.repository, at)
            found, _ = folded(
                there, other, books, commit, request, at, guarded=False, before=gathered
            )
            return not any(_stops(item) for item in found.decisions)

    outcome = fold(
        ledgers,
        gathered.declared,
        request.observations,
        gathering.stops(project),
        gathering.room(project),
        facts,
        today_digests(project, gathered.results, ledgers),
        stop_guard=rules.stop_guard if rules and guarded else None,
        allow_stops=request.allow_stops
        if request.allow_stops is not None
        else _allowed(git, source),
        pure_revert=lambda: pure_revert(git, books.commits, source, at, quiet),
    )
    outcome.decisions = _adopting(outcome, ledgers, books)
    return outcome, gathered


def _adopting(outcome: Outcome, ledgers: Mapping[Key, Ledger], books: Books) -> list[JobDecision]:
    """The decisions, with what is taken in now."""
    new = {
        (key, run.cluster): run.name
        for key, ledger in ledgers.items()
        for run in ledger.runs
        if key not in books.ledgers or not books.ledgers[key].runs
    }
    return [
        replace(item, adopts=new.get(((item.team, item.book), item.cluster), ""))
        for item in outcome.decisions
    ]


def _stops(item: JobDecision) -> bool:
    return any(end.reason != "withdrawn" for end in item.decision.ends)


def _allowed(git: Git, source: str) -> int | None:
    """The stops that the merged commit itself allows, by its trailer `Allow-stops: N`."""
    if not source:
        return None
    words = ("show", "-s", "--format=%(trailers:key=Allow-stops,valueonly)", source)
    said = git.text(*words).strip()
    return int(said) if said.isascii() and said.isdigit() else None


def _bases(
    project: Project, gathered: gathering.Gathered
) -> dict[tuple[tuple[str, str], str], str]:
    made: dict[tuple[tuple[str, str], str], str] = {}
    for key, result in gathered.results.items():
        for run in result.runs:
            made[key, run.run.identity.cluster] = run.base.digest
    return made


def ranks(git: Git, source: str) -> gathering.Ranks:
    """The order in which first-parent commits last changed each declaration.

    Ties are broken by the path. A file that no commit has touched yet comes last.
    """
    order: dict[str, int] = {}
    if source:
        out = git.text(
            "log",
            "--first-parent",
            "-m",
            "--format=%x01",
            "--name-only",
            source,
            "--",
            f":(top,literal){git.prefix}jobs",
        )
        commits = out.split("\x01")
        for rank, block in enumerate(commits):
            for path in block.split("\n"):
                if path:
                    order.setdefault(path.removeprefix(git.prefix), len(commits) - rank)
    return lambda path: order.get(path, 1 << 30)
