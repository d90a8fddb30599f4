"""`plan`: what a publish would do because of a change, and only because of it.

Both the tree without the change and the tree with it are decided about, over the same ledgers, by
the very code that publish runs. What both would do is not the change's doing.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from compiler import __version__
from compiler.diagnostics import CompilerError, Finding
from compiler.project import Project
from compiler.quota.planned import planned
from compiler.repository import Repository
from compiler.runs import gathering
from compiler.runs.account import Account, Line, is_news
from compiler.runs.books import Books, read_books
from compiler.runs.decisions import Request, folded, project_of
from compiler.runs.effects import Judgement, effects
from compiler.runs.fold import JobDecision, Key, Outcome
from compiler.runs.publishing import accounted, configured_branch, example_images
from compiler.runs.rendering import rendered
from compiler.runs.reporting import Report
from compiler.runs.supposition import Conflict, Supposition, supposing
from compiler.suggestions import choose

Place = tuple[Key, str]


class Question(Struct, frozen=True):
    """What a plan is asked about; None where the repository decides.

    `head` is a commit, the work tree without one. `revert` names commits to undo on top of what is
    published: then `head` is not asked about.
    """

    base: str | None = None
    head: str | None = None
    revert: tuple[str, ...] = ()
    remote: str = "origin"
    branch: str | None = None
    allow_stops: int | None = None
    diff: bool = False


class Trees(Struct):
    """The commits to compare: `old` without the change, `new` with it.

    `source` is the commit that the change is measured from.
    """

    old: str
    new: str
    source: str
    shown: str
    notes: list[str] = field(default_factory=list[str])


class Planned(Struct):
    """The report, and what is wrong in the tree with the change."""

    report: Report
    findings: list[Finding]
    unpublished: bool = False

    @property
    def refused(self) -> bool:
        """Whether the change blocks a job, wakes the stop guard, or speaks of runs that publish
        would not come to (`unpublished`: it refuses the whole tree)."""
        account = self.report.account
        if self.unpublished and (account.news or self.report.pending):
            return True
        guard = account.guard
        if guard is not None and guard.withheld:
            return True
        return any(line.action == "blocked" for line in account.news)


class _Decided(Struct):
    project: Project
    outcome: Outcome
    gathered: gathering.Gathered
    account: Account


def plan(repository: Repository, question: Question, at: datetime) -> Planned:
    """What the change does; raises CompilerError where that cannot be told.

    Nothing is fetched: what is published is what the remote-tracking branch says.
    """
    with supposing(repository.root, at) as git:
        tips, onto, notes = published_tips(git, question)
        books = read_books(git, *tips, cache=repository.cache)
        trees = _trees(git, question, books, onto, notes)
        # Both trees may be those of commits that are gone with the folder.
        with (
            _decided(repository, git, books, trees.old, question, at) as old,
            _decided(repository, git, books, trees.new, question, at, old) as new,
        ):
            changed = git.changed(trees.old, trees.new)
            refusal = example_images(new.project)
            first = [f"publish refuses this tree: {refusal}; {refusal.help}"] if refusal else []
            report = Report(
                new.account,
                trees.source,
                books.commits[0].commit if books.commits else "",
                at,
                head=trees.shown,
                notes=[*first, *trees.notes, *_surroundings(changed)],
                pending=_pending(old, new),
                title="plan",
                effects=effects(_judged(old), _judged(new), changed, new.outcome),
                verdict=_verdict(old, new),
            )
            if question.diff:
                _add_diff(report, git, books, new)
            return Planned(report, new.gathered.findings, refusal is not None)


def _judged(side: _Decided) -> Judgement:
    return Judgement(side.project, side.gathered.judged, side.gathered.findings)


def _verdict(old: _Decided, new: _Decided) -> list[dict[str, Any]]:
    """The limits and budgets that what the change starts would pass."""
    known = _by_place(old.outcome.decisions)
    return planned(
        new.project,
        new.outcome.decisions,
        old.outcome.ledgers,
        new.outcome.ledgers,
        new.gathered.results,
        lambda item: _differs(known.get(_place(item)), item),
    )


def published_tips(git: Supposition, question: Question) -> tuple[list[str], str, list[str]]:
    """Where the ledgers are, what a change is measured against, and what to say of that.

    The first is the branch that publish writes; publish also reads what it wrote to others before.
    Raises CompilerError where this clone does not know; the remote is never asked.
    """
    remote, notes = question.remote, list[str]()
    if not git.has_remote(remote):
        notes.append(f"there is no remote `{remote}`: compared with HEAD, and its ledgers")
        onto = git.commit(question.base or "HEAD")
        configured = _branch(git, onto)
        named = question.branch or configured
        known = [git.known(f"refs/heads/{named}")] if named else []
        if known == [None] and named != configured:
            raise _unknown_branch(git, "", named)
        return [tip for tip in (*known, git.commit("HEAD")) if tip is not None], onto, notes
    default = git.upstream(remote)
    if default is None and question.base is None:
        raise CompilerError(
            f"this clone does not know the default branch of `{remote}`",
            f"name what to compare with: --base {remote}/BRANCH "
            f"(or `git remote set-head {remote} --auto`)",
        )
    onto = git.commit(question.base or f"refs/remotes/{remote}/{default}")
    configured = _branch(git, onto) or default
    named = question.branch or configured
    if named is None:
        return [onto], onto, notes
    tip = git.known(f"refs/remotes/{remote}/{named}")
    if tip is None and named != configured:
        raise _unknown_branch(git, remote, named)
    if tip is None:
        notes.append(f"this clone has no branch {remote}/{named}: nothing is published there")
    earlier: list[str | None] = []
    if named == configured:
        head = _branch(git, question.head or "HEAD")
        others = dict.fromkeys(name for name in (head, default) if name and name != named)
        earlier = [git.known(f"refs/remotes/{remote}/{name}") for name in others]
    return [found for found in (tip, *earlier) if found is not None], onto, notes


def _unknown_branch(git: Supposition, remote: str, branch: str) -> CompilerError:
    """The refusal of a branch that this clone does not have: it is rather a slip."""
    place = f"refs/remotes/{remote}" if remote else "refs/heads"
    listed = git.text("for-each-ref", f"--format=%(refname:lstrip={2 + bool(remote)})", place)
    known = set(listed.split()) - {"HEAD"}
    wanted = f"{remote}/{branch}" if remote else branch
    return CompilerError(
        f"this clone has no branch {wanted}",
        f"{choose(branch, known, 'name another')}; git fetch, if it is new",
    )


def _branch(git: Supposition, commit: str) -> str:
    """The branch that `pyproject.toml` names at a commit; '' where it names none."""
    try:
        return configured_branch(git, git.commit(commit))
    except CompilerError:
        return ""


def _trees(
    git: Supposition,
    question: Question,
    books: Books,
    onto: str,
    notes: list[str],
) -> Trees:
    if question.revert:
        return _revert(git, question, books, onto, notes)
    head = git.commit(question.head) if question.head else git.work_tree()
    shown = f"{question.head} ({head[:12]})" if question.head else "the work tree"
    source = git.merge_base(onto, head)
    if source is None:
        raise CompilerError(
            f"{shown} and {onto[:12]} have no history in common", "name another with --base"
        )
    trees = Trees(onto, head, source, shown, notes)
    if source == onto:
        return trees
    written = {made.commit for made in books.commits}
    count = len(set(git.text("rev-list", f"{source}..{onto}").split()) - written)
    behind = f"{count} commits" if count != 1 else "1 commit"
    if source == head:
        # Everything here is in the branch already.
        trees.new = onto
        notes.append(f"{shown} is in {onto[:12]} already")
        return trees
    try:
        trees.new = git.merged(onto, head)
        if count:
            notes.append(f"the branch has moved on by {behind}: this is the change merged into it")
    except Conflict as error:
        trees.old = source
        notes.append(
            f"it conflicts with {onto[:12]} in {error}: this is the change where it started, "
            f"{behind} ago"
        )
    return trees


def _revert(
    git: Supposition,
    question: Question,
    books: Books,
    onto: str,
    notes: list[str],
) -> Trees:
    published = {made.commit for made in books.commits}
    commits = git.named(question.revert, onto)
    left = [commit for commit in commits if commit not in published]
    notes += [
        f"{commit[:12]} is a publish commit: undoing it undoes no run, so it is left out"
        for commit in commits
        if commit in published
    ]
    names = ", ".join(commit[:12] for commit in left[:5]) + (" …" if len(left) > 5 else "")
    new = git.reverted(onto, left)
    return Trees(onto, new, onto, f"revert of {names}" if left else "revert of nothing", notes)


@contextmanager
def _decided(
    repository: Repository,
    git: Supposition,
    books: Books,
    commit: str,
    question: Question,
    at: datetime,
    old: _Decided | None = None,
) -> Generator[_Decided]:
    """What publish would decide for a commit; `old` is what it would without the change."""
    with git.checkout(commit) as folder:
        project = project_of(Repository(folder), repository, at)
        request = Request(allow_stops=question.allow_stops)
        there = old.gathered if old is not None else None
        outcome, gathered = folded(project, git, books, commit, request, at, before=there)
        known = _by_place(old.outcome.decisions if old is not None else ())

        def caused(item: JobDecision) -> bool:
            return is_news(item) if old is None else _differs(known.get(_place(item)), item)

        before = old.outcome.ledgers if old is not None else None
        told = accounted(project, git, books, outcome, gathered, request, caused, before)
        yield _Decided(project, outcome, gathered, told)


def _place(item: JobDecision) -> Place:
    return ((item.team, item.book), item.cluster)


def _by_place(decisions: Iterable[JobDecision]) -> Mapping[Place, JobDecision]:
    return {_place(item): item for item in decisions}


def _differs(old: JobDecision | None, new: JobDecision) -> bool:
    """Whether the change makes a decision another one."""
    if old is None:
        return new.decision.action != "none" or new.decision.row != "b"
    return _gist(old) != _gist(new)


def _gist(item: JobDecision) -> tuple[object, ...]:
    """What counts of a decision: everything but the words that explain it."""
    one, target = item.decision, item.target
    if one.action == "blocked":
        return (one.action,)
    acts = is_news(item) or one.row in ("i", "j", "m", "e")
    asked = (target.training, target.operation) if target is not None and acts else ()
    return (
        *(one.row, one.action, one.number, one.start_from, one.ends),
        *(one.image_of, one.base_of, one.then, asked, item.adopts),
    )


def _pending(old: _Decided, new: _Decided) -> list[Line]:
    """What happens without the change as well."""
    caused = {(line.team, line.job, line.cluster) for line in new.account.news}
    return [line for line in old.account.news if (line.team, line.job, line.cluster) not in caused]


def _surroundings(paths: list[str]) -> list[str]:
    """What the change touches besides declarations, and what that means for runs."""
    notes: list[str] = []
    for folder, what in (
        ("base/", "runs that start from now on stand on it, and none that is there already"),
        ("policy/", "no run is started or stopped for it, save by policy/stops/ and by room"),
        ("images/", "runs that start from now on take these images, and none that is there"),
    ):
        if any(path.startswith(folder) for path in paths):
            notes.append(f"{folder} changes: {what}")
    if any(
        path == "pyproject.toml" or path.startswith(("compiler/", "requirements")) for path in paths
    ):
        notes.append(
            f"the compiler or its settings change: this plan was made by runwright {__version__}, "
            "which runs here; what has started keeps its bytes"
        )
    if any(path.startswith("overlays/") for path in paths):
        notes.append(
            "it touches overlays/, which publish alone writes: `git checkout <base> -- overlays/`"
        )
    return notes


def _add_diff(report: Report, git: Supposition, books: Books, new: _Decided) -> None:
    places = {(line.team, line.job, line.cluster) for line in report.account.news}
    items = [
        item
        for item in new.outcome.decisions
        if item.decision.starts and (item.team, item.job, item.cluster) in places
    ]
    try:
        results = new.gathered.results
        report.diff = rendered(new.project, git, books, new.outcome, items, git.scratch, results)
    except CompilerError as error:
        report.notes.append(f"publish would stop here: {error}")
