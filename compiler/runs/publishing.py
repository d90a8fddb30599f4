"""`publish`: the only writer of `overlays/`, in commits of its own.

It reads a commit's tree, never the work tree; starts from the remote's tip; touches no file that
it did not write; and computes everything again where it lost a race.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from compiler import __version__
from compiler.diagnostics import CompilerError, Finding
from compiler.kustomize import find
from compiler.project import Project
from compiler.proof import prove
from compiler.repository import Repository
from compiler.runs import gathering
from compiler.runs.account import Account, Caused, account, is_news, last_observed
from compiler.runs.books import Books, read_books
from compiler.runs.emission import Emission, Tree
from compiler.runs.entries import Ledger
from compiler.runs.fold import Facts, Key, Outcome, fold
from compiler.runs.git import Git, Rejected, observed_trailers
from compiler.runs.observations import Observation
from compiler.runs.room import Room

RACES = 5
KEEP = timedelta(hours=72)


@dataclass(frozen=True, slots=True)
class Request:
    """What a publish was asked for; None where the repository decides."""

    source: str | None = None
    remote: str = "origin"
    branch: str | None = None
    push: bool = True
    dry_run: bool = False
    observations: Sequence[Observation] = ()
    allow_stops: int | None = None
    reset: frozenset[str] = frozenset()
    pure_revert: bool = False


@dataclass(slots=True)
class Published:
    """What a publish did. `commit` is None where there was nothing to write."""

    outcome: Outcome
    source: str
    base: str | None
    commit: str | None = None
    findings: list[Finding] = field(default_factory=list[Finding])
    tree: Tree | None = None
    # The newest publish commit before this one; '' before the first.
    published: str = ""
    account: Account | None = None

    @property
    def blocked(self) -> bool:
        """Whether a job was left as it is because of an error."""
        return any(item.decision.action == "blocked" for item in self.outcome.decisions)


def publish(repository: Repository, request: Request, at: datetime) -> Published:
    """Bring the published branch up to the source; raises CompilerError where that cannot be.

    The remote moves only at the very end, in one step: a crash before leaves it as it was.
    """
    git = Git(repository.root)
    for _ in range(RACES):
        try:
            return _once(repository, git, request, at)
        except Rejected:
            continue
    raise CompilerError(
        f"the branch moved {RACES} times while this was being computed",
        "let one publish run at a time (concurrency 1), then run it again",
    )


def _once(repository: Repository, git: Git, request: Request, at: datetime) -> Published:
    default = git.default_branch(request.remote)
    branch = request.branch or repository.settings.get("publish", {}).get("branch") or default
    tip = git.fetch(request.remote, branch)
    head = tip if branch == default else git.fetch(request.remote, default)
    source = git.commit(request.source) if request.source else head
    if source is None:
        raise CompilerError(f"the remote has no branch `{default}`")
    books = read_books(git, tip)
    with git.checkout(source) as folder, tempfile.TemporaryDirectory() as scratch:
        project = project_of(Repository(folder), repository, at)
        _refuse_examples(project)
        authored = _authored(git, source, books)
        outcome, gathered = folded(project, git, books, authored, request, at)
        emission = Emission(project, outcome, published_files(git, books), authored, Path(scratch))
        tree = emission.make()
        done = Published(outcome, authored, tip, None, gathered.findings, tree)
        done.published = books.commits[0].commit if books.commits else ""
        done.account = accounted(project, git, books, outcome, gathered, request)
        written = _write(git, tip, tree, done, request, branch, books)
        if written is None or request.dry_run:
            return done
        if tree.claims:
            prove(tree.claims, find(repository.root))
        if request.push:
            git.push(request.remote, written, branch, tip)
        done.commit = written
        return done


def accounted(
    project: Project,
    git: Git,
    books: Books,
    outcome: Outcome,
    gathered: gathering.Gathered,
    request: Request,
    caused: Caused = is_news,
    held_before: Mapping[Key, Ledger] | None = None,
) -> Account:
    """What the outcome means, run by run; asked for while the project's files are there."""
    told = [(seen.cluster, seen.at) for seen in request.observations]
    told += observed_trailers(git, books.commits)
    seen = last_observed(books.ledgers.values(), told, project.policy.clusters)
    limits = gathering.limits(project)
    return account(outcome, books.ledgers, project, gathered, limits, seen, caused, held_before)


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
) -> tuple[Outcome, gathering.Gathered]:
    """The decisions for the tree of a project, over these ledgers."""
    gathered = gathering.gather(project, ranks(git, source), books.ledgers)
    rules = project.policy.rules.value if project.policy.rules else None
    keep = timedelta(seconds=rules.keep_finished) if rules and rules.keep_finished else KEEP
    facts = Facts(
        now=git.time(source) if source else at,
        source=source,
        keep=keep,
        compiler=__version__,
        bases=_bases(project, gathered),
        reset=request.reset,
        namespaces={name: team.value.namespace for name, team in project.policy.teams.items()},
    )
    outcome = fold(
        books.ledgers,
        gathered.declared,
        request.observations,
        gathering.stops(project),
        Room(gathering.limits(project)),
        facts,
        gathering.today_digests(project, gathered, books.ledgers),
        stop_guard=rules.stop_guard if rules else None,
        allow_stops=request.allow_stops
        if request.allow_stops is not None
        else _allowed(git, source),
        pure_revert=request.pure_revert,
    )
    return outcome, gathered


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
            f":(top){git.prefix}jobs",
        )
        commits = out.split("\x01")
        for rank, block in enumerate(commits):
            for path in block.split("\n"):
                if path:
                    order.setdefault(path.removeprefix(git.prefix), len(commits) - rank)
    return lambda path: order.get(path, 1 << 30)


def _authored(git: Git, source: str, books: Books) -> str:
    """The commit that people made: a publish commit stands for the source that it is of."""
    for made in books.commits:
        if made.commit == source:
            return made.source or source
    return source


def published_files(git: Git, books: Books) -> Callable[[str], Mapping[str, bytes] | None]:
    """Looks up a folder as a publish commit wrote it, the newest first."""

    def look(folder: str) -> Mapping[str, bytes] | None:
        for made in books.commits:
            found = git.files(made.commit, folder)
            if found:
                contents = git.blobs(blob for _, blob in found.values())
                return {path: contents[blob] for path, (_, blob) in found.items()}
        return None

    return look


def _write(
    git: Git,
    tip: str | None,
    tree: Tree,
    done: Published,
    request: Request,
    branch: str,
    books: Books,
) -> str | None:
    """The commit that holds the tree, or None where the branch holds it already."""
    blobs = {path: git.store(data) for path, data in tree.files.items()}
    made = git.tree_with(tip, "overlays", blobs)
    if tip is not None and git.subtree(made, "overlays") == git.subtree(tip, "overlays"):
        return None
    ledger = git.subtree(made, "overlays/ledger") or "none"
    message = (
        f"{subject(done.outcome)}\n\n"
        f"Source: {done.source}\nLedger: {ledger}\nPrevious-Ledger: {books.head}\n"
        + "".join(f"Observed: {seen.cluster} {seen.at}\n" for seen in request.observations)
    )
    return git.make_commit(made, [tip] if tip else [], message)


def subject(outcome: Outcome) -> str:
    """What a publish does, in a line: `publish: 2 start, 1 stops`."""
    starts = sum(item.decision.starts for item in outcome.decisions)
    stops = sum(
        1 for item in outcome.decisions for end in item.decision.ends if end.reason != "withdrawn"
    )
    parts = [f"{starts} start" if starts else "", f"{stops} stop" if stops else ""]
    said = ", ".join(part for part in parts if part)
    return f"publish: {said}" if said else "publish: no run starts or stops"


def _refuse_examples(project: Project) -> None:
    if project.repository.settings.get("example") is True:
        return
    lock = project.policy.lock
    for name, entry in (lock.value.images if lock else {}).items():
        if entry.example and lock is not None:
            place = lock.place("images", name)
            raise CompilerError(
                f"{place.path}:{place.line}: the digest of `{name}` stands in an example: there is "
                "no such image",
                "pin the image that you have built",
            )
