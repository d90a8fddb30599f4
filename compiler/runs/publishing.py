"""`publish`: the only writer of `overlays/`, in commits of its own.

It reads a commit's tree, never the work tree; starts from the remote's tip; touches no file that
it did not write; and computes everything again where it lost a race.
"""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from msgspec import Struct, field

from compiler.diagnostics import CompilerError, Finding
from compiler.kustomize import find
from compiler.project import Project
from compiler.proof import prove
from compiler.repository import Repository
from compiler.runs import gathering
from compiler.runs.account import Account, Caused, account, is_news, last_observed
from compiler.runs.books import FOLDER, Books, LostHistory, read_books
from compiler.runs.chain import observed_trailers
from compiler.runs.decisions import Request, folded, project_of
from compiler.runs.emission import Emission, Tree, run_folder
from compiler.runs.entries import Ledger
from compiler.runs.fold import Key, Outcome
from compiler.runs.git import Git, Rejected
from compiler.runs.past import Past
from compiler.runs.reverts import people_wrote
from compiler.suggestions import choose

RACES = 5


class Published(Struct):
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
    target = _target(git, request)
    books = read_books(git, target.tip, *target.earlier, cache=repository.cache)
    source, tip = target.source, target.tip
    with git.checkout(source) as folder, tempfile.TemporaryDirectory() as scratch:
        project = project_of(Repository(folder), repository, at)
        refused = example_images(project)
        if refused is not None:
            raise refused
        _refuse_unknown_clusters(project, books, request)
        authored = _authored(git, source, books)
        if request.source is not None:
            _refuse_older(git, authored, books, target.branch)
        outcome, gathered = folded(project, git, books, authored, request, at)
        published = published_files(git, books)
        tree = Emission(
            project, outcome, published, authored, Path(scratch), gathered.results
        ).make()
        done = Published(outcome, authored, tip, None, gathered.findings, tree)
        done.published = books.commits[0].commit if books.commits else ""
        done.account = accounted(project, git, books, outcome, gathered, request)
        if tree.claims:
            prove(tree.claims, find(repository.root))
        if not request.dry_run:
            done.commit = _write(git, target, tree, done, request, books)
        if done.commit is not None and request.push:
            git.push(request.remote, done.commit, target.branch, tip)
            if target.followed:
                git.mark(request.remote, done.commit, target.branch, target.mark)
        return done


class Target(Struct, frozen=True):
    """What is published, and where: `source` onto `branch`, whose tip is `tip`.

    `followed` says whether it is the branch that syncers follow, and not one that was asked for;
    `earlier` are publish commits of others that were followed before, `mark` is the newest one of
    this branch.
    """

    source: str
    branch: str
    tip: str | None
    followed: bool
    mark: str | None
    earlier: tuple[str, ...]


def _target(git: Git, request: Request) -> Target:
    """Ask the remote, and bring what is needed here.

    Raises CompilerError for an unknown branch or source, and LostHistory where the branch lacks the
    newest publish commit that was noted for it.
    """
    remote = git.remote(request.remote)
    default = remote.default or ""
    if request.source is None and default not in remote.heads:
        raise CompilerError(
            f"the remote `{request.remote}` does not say its default branch, or has none yet",
            "push one, or name a commit with --source",
        )
    refs = [f"refs/heads/{default}"] if default in remote.heads else []
    refs += [f"refs/runwright/{name}" for name in remote.marks]
    if refs:
        git.fetch(request.remote, refs)
    source = git.commit(request.source) if request.source else remote.heads[default]
    configured = configured_branch(git, source) or default
    branch = request.branch or configured
    if not branch:
        raise CompilerError("there is no branch to write", "name it with --branch")
    tip = remote.heads.get(branch)
    if tip is None and branch not in (configured, *remote.marks) and not request.new_branch:
        raise unknown_branch(request.remote, branch, remote.heads)
    if tip is not None and branch != default:
        git.fetch(request.remote, [f"refs/heads/{branch}"])
    mark = remote.marks.get(branch)
    if mark is not None and (tip is None or not git.contains(tip, mark)):
        raise LostHistory(
            f"the branch `{branch}` no longer has the publish commit {mark[:12]}, which it had: "
            "runs would be forgotten",
            f"bring it back: `git fetch {request.remote} {mark}`, then merge it into `{branch}`",
        )
    followed = branch == configured
    earlier = [found for name, found in sorted(remote.marks.items()) if name != branch]
    if default in remote.heads:
        earlier.append(remote.heads[default])
    return Target(source, branch, tip, followed, mark, tuple(earlier) if followed else ())


def unknown_branch(remote: str, branch: str, known: Iterable[str]) -> CompilerError:
    """The refusal of a branch that was asked for and is not there: it is rather a slip."""
    return CompilerError(
        f"`{remote}` has no branch `{branch}`",
        f"{choose(branch, known, 'name another')}; or begin a new one with --new-branch: nothing "
        "is published there, so every run starts from r1",
    )


def configured_branch(git: Git, source: str) -> str:
    """The branch that `pyproject.toml` names at a commit; the work tree's may name another."""
    name = git.names([f"{source}:{git.prefix}pyproject.toml"])[0]
    if not name:
        raise CompilerError(f"there is no pyproject.toml in {source[:12]}", "commit it")
    try:
        manifest: Any = tomllib.loads(git.blobs([name])[name].decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CompilerError(f"pyproject.toml in {source[:12]} cannot be read: {error}") from None
    for step in ("tool", "compiler", "publish", "branch"):
        table = cast("dict[str, Any]", manifest) if isinstance(manifest, dict) else {}
        manifest = table.get(step)
        if manifest is None and step == "compiler":
            raise CompilerError(
                f"pyproject.toml in {source[:12]} has no [tool.compiler]", "add the table"
            )
    if manifest is not None and (not isinstance(manifest, str) or not manifest):
        raise CompilerError(
            "branch in [tool.compiler.publish] is not the name of a branch",
            'write branch = "deploy"',
        )
    return manifest or ""


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


def _authored(git: Git, source: str, books: Books) -> str:
    """The commit that people made: a publish commit stands for the one that it was put upon.

    That is not the source that it names: a publish of an older commit holds the files of a newer.
    """
    published = {made.commit for made in books.commits}
    if source not in published:
        return source
    below = git.text("rev-list", "--first-parent", f"-n{len(published) + 1}", source).split()
    found = next((commit for commit in below if commit not in published), source)
    wrote = people_wrote(git, [source, found])
    # A squash may bear the message of a publish and hold what people changed.
    return found if wrote.get(found) == wrote.get(source) else source


def _refuse_older(git: Git, asked: str, books: Books, branch: str) -> None:
    """Going back is a change like any other: it must stand in the history that is published."""
    newest = git.known(books.commits[0].source) if books.commits else None
    if newest is None or newest == asked or not git.contains(newest, asked):
        return
    raise CompilerError(
        f"{asked[:12]} is older than {newest[:12]}, which `{branch}` was published up to",
        "to go back, git revert what came after it, merge, and publish: `runwright plan --revert "
        f"{asked[:12]}..{newest[:12]}` says what that does",
    )


def published_files(git: Git, books: Books) -> Callable[[str], Mapping[str, bytes] | None]:
    """Looks up a folder as a publish commit wrote it, the newest first."""
    return Past(git, [made.commit for made in books.commits], books.touched)


def _write(
    git: Git, target: Target, tree: Tree, done: Published, request: Request, books: Books
) -> str | None:
    """The commit that holds the tree, or None where the branch holds it already."""
    tip = target.tip
    there = git.files(tip, "overlays") if tip is not None else {}
    gone = _own(there, tree, books, done.outcome.ledgers)
    if not books.commits:
        _refuse_strangers(gone)
    names = git.store(tree.files.values())
    made = git.tree_with(tip, gone, {path: names[data] for path, data in tree.files.items()})
    places = (f"{made}:{git.prefix}overlays", f"{made}:{git.prefix}{FOLDER}")
    now, ledger, before = git.names([*places, f"{tip or made}:{git.prefix}overlays"])
    if tip is not None and now == before:
        return None
    message = (
        f"{subject(done.outcome)}\n\n"
        f"Source: {done.source}\nLedger: {ledger or 'none'}\nPrevious-Ledger: {books.head}\n"
        + "".join(f"Observed: {seen.cluster} {seen.at}\n" for seen in request.observations)
    )
    return git.make_commit(made, [tip] if tip else [], message)


def _own(
    there: Iterable[str], tree: Tree, books: Books, ledgers: Mapping[Key, Ledger]
) -> list[str]:
    """The files under `overlays/` that are publish's to remove.

    They are those that it wrote, and whatever lies in a folder that it writes: of a run, of a base,
    of the ledger. Others, such as overlays from before its time, are somebody else's.
    """
    folders = {path.rpartition("/")[0] for path in tree.files}
    folders |= {run_folder(key, run) for key, ledger in ledgers.items() for run in ledger.runs}
    return [
        path
        for path in there
        if path.startswith(f"{FOLDER}/")
        or path in books.touched
        or path.rpartition("/")[0] in folders
    ]


def _refuse_strangers(paths: Sequence[str]) -> None:
    if paths:
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        raise CompilerError(
            f"{paths[0]}{more} would be replaced, and was not written by publish",
            "move overlays/ of your own to another folder",
        )


def subject(outcome: Outcome) -> str:
    """What a publish does, in a line: `publish: 2 start, 1 stops`."""
    starts = sum(item.decision.starts for item in outcome.decisions)
    stops = sum(
        1 for item in outcome.decisions for end in item.decision.ends if end.reason != "withdrawn"
    )
    adopted = sum(bool(item.adopts) for item in outcome.decisions)
    parts = [f"{starts} start" if starts else "", f"{stops} stop" if stops else ""]
    parts.append(f"{adopted} adopted" if adopted else "")
    said = ", ".join(part for part in parts if part)
    return f"publish: {said}" if said else "publish: no run starts or stops"


def _refuse_unknown_clusters(project: Project, books: Books, request: Request) -> None:
    """What is said of a cluster that there is not would be lost without a word."""
    policy = project.policy
    known = {
        *policy.clusters,
        *(name for ledger in books.ledgers.values() for name in ledger.clusters),
    }
    asked = [(seen.cluster, "the observation") for seen in request.observations]
    asked += [(name, "--reset-cluster") for name in sorted(request.reset)]
    for name, where in asked:
        if name not in known and not policy.unreadable("clusters", name):
            raise CompilerError(
                f"there is no cluster `{name}`, which {where} names", choose(name, known)
            )


def example_images(project: Project) -> CompilerError | None:
    """Why nothing of a tree is published whose lock has the digest of an example.

    None where all digests are real, or where the repository itself is an example.
    """
    if project.repository.settings.get("example") is True:
        return None
    lock = project.policy.lock
    for name, entry in (lock.value.images if lock else {}).items():
        if entry.example and lock is not None:
            place = lock.place("images", name)
            return CompilerError(
                f"{place.path}:{place.line}: the digest of `{name}` stands in an example: there is "
                "no such image",
                "pin the image that you have built",
            )
    return None
