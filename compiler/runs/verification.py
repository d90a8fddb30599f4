"""Whether `overlays/` is what publish wrote: the history of a repository, checked.

Only publish writes there, in commits that name the ledger they hold. Whatever else changes a byte
is found here, before the next publish has to make sense of it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct, field

from compiler import __version__
from compiler.cachefile import load_cached, save_cached
from compiler.diagnostics import CompilerError, Finding, Place

if TYPE_CHECKING:
    from compiler.repository import Repository
    from compiler.runs.chain import PublishCommit
    from compiler.runs.entries import Ledger
    from compiler.runs.git import Git

OVERLAYS = "overlays"
LEDGER = "overlays/ledger"
NO_GIT = "this is no git repository"
# One commit can change every overlay there is; a reader needs to see that it did, not all of them.
MOST = 20
MOST_NAMED = 200


class Verified(Struct):
    """What is wrong, and why it could not be looked at, where it could not."""

    findings: list[Finding] = field(default_factory=list[Finding])
    skipped: str = ""


def verified(repository: Repository) -> Verified:
    """What is wrong in `overlays/` and in the history of the commit at hand, and idle stops.

    One call of git tells the commit and what is not committed; what was found clean once for a
    commit is not looked at again.
    """
    from compiler.runs.idlestops import idle_stops

    history = _of_history(repository)
    return Verified([*history.findings, *idle_stops(repository)], history.skipped)


def _of_history(repository: Repository) -> Verified:
    head, dirty, skipped = _status(repository)
    if skipped:
        return Verified(skipped=skipped)
    known = not dirty and head and _remembered(repository) == head
    if known or (not head and not dirty):
        return Verified()
    from compiler.runs.git import Git

    try:
        git = Git(repository.root)
        found = list(_found(git, repository, head, dirty))
    except CompilerError as error:
        return Verified(skipped=str(error))
    if not found and head:
        _remember(repository, head)
    return Verified(found)


def _status(repository: Repository) -> tuple[str, list[str], str]:
    """The commit at hand, what of `overlays/` differs from it, and why it is unknown."""
    if not _in_git(repository):
        return "", [], NO_GIT
    words = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames")
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", *words, "--", OVERLAYS],
            cwd=repository.root,
            capture_output=True,
            check=False,
        )
    except OSError:
        return "", [], "there is no git here"
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        why = said[0].removeprefix("fatal: ") if said else "git failed"
        return "", [], NO_GIT if "not a git repository" in why else why
    head, dirty = "", list[str]()
    for row in done.stdout.decode("utf-8", "surrogateescape").split("\0"):
        if row.startswith("# branch.oid "):
            head = row.split()[2].removeprefix("(initial)")
        elif row[:2] in ("1 ", "u "):
            dirty.append(row.split(" ", 8 if row[0] == "1" else 10)[-1])
        elif row.startswith("? "):
            dirty.append(row[2:])
    return head, dirty, ""


def untracked(repository: Repository, wanted: Iterable[str]) -> set[str]:
    """Which of these files git does not track; none where this is no repository of its.

    It is one call of git, and none at all where no file is asked about.
    """
    root = os.path.realpath(repository.root)
    real = {
        name: os.path.relpath(os.path.realpath(os.path.join(root, name)), root)  # noqa: PTH118
        for name in wanted
    }
    if not real or not _in_git(repository):
        return set()
    # A command line is not endless: for many files everything is listed.
    asked = sorted(set(real.values())) if len(real) <= MOST_NAMED else []
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "--literal-pathspecs", "ls-files", "-z", "--", *asked],
            cwd=root,
            capture_output=True,
            check=False,
        )
    except OSError:
        return set()
    if done.returncode:
        return set()
    kept = set(done.stdout.decode("utf-8", "surrogateescape").split("\0"))
    return {name for name, path in real.items() if path not in kept}


def _in_git(repository: Repository) -> bool:
    """Whether it is worth asking git: most of what it would say is known without it."""
    root = os.path.realpath(repository.root)
    while not os.path.lexists(os.path.join(root, ".git")):  # noqa: PTH118 (quicker)
        above = os.path.dirname(root)  # noqa: PTH120
        if above == root:
            return False
        root = above
    return True


def _found(git: Git, repository: Repository, head: str, dirty: list[str]) -> Iterator[Finding]:
    from compiler.runs.chain import publish_commits

    changed = {path.removeprefix(git.prefix): "" for path in dirty}
    commits = publish_commits(git, head) if head else []
    newest = commits[0].commit if commits else None
    if head:
        for path in _edited(git, newest, head):
            changed.setdefault(path, _editor(git, newest, head, path))
    gone = [path for path in changed if not os.path.lexists(repository.root / path)]
    yield from _of_files(changed, newest, gone)
    if commits:
        yield from _forged(git, repository, commits, head)
        yield from _lost(commits)
        yield from _of_ledgers(git, repository, commits)


def _edited(git: Git, newest: str | None, head: str) -> list[str]:
    """The paths under `overlays/` that are otherwise at `head` than the last publish left them."""
    if newest is None:
        return list(git.files(head, OVERLAYS))
    where = f":(top){git.prefix}{OVERLAYS}"
    out = git.text("diff", "--name-only", "--no-renames", "-z", newest, head, "--", where)
    return [path.removeprefix(git.prefix) for path in out.split("\0") if path]


def _editor(git: Git, newest: str | None, head: str, path: str) -> str:
    reach = head if newest is None else f"{newest}..{head}"
    where = f":(top,literal){git.prefix}{path}"
    return git.text("log", "-1", "--format=%h", reach, "--", where)


def _of_files(
    changed: Mapping[str, str], newest: str | None, gone: Iterable[str]
) -> Iterator[Finding]:
    """A finding for each file; those that were deleted by the same hand are one mistake."""
    from compiler.rules import finding

    if newest is None:
        remedy = f"take it out (git rm -r {OVERLAYS}): publish writes the first overlays itself"
    else:
        remedy = f"git checkout {newest[:12]} -- {OVERLAYS}/"
    deleted: dict[tuple[str, bool], list[str]] = {}
    for path in sorted(gone):
        kind = (changed[path], path.startswith(f"{LEDGER}/"))
        deleted.setdefault(kind, []).append(path)
    folded = {path: others for path, *others in deleted.values()}
    within = {path for others in folded.values() for path in others}
    paths = sorted(changed.keys() - within)
    for at, path in enumerate(paths[:MOST]):
        rule = "edited-ledger" if path.startswith(f"{LEDGER}/") else "edited-overlay"
        by = f"commit {changed[path]}" if changed[path] else "a change that is not committed"
        more = ""
        if at == MOST - 1 and len(paths) > MOST:
            more = f" (and {len(paths) - MOST} more files)"
        elif folded.get(path):
            more = f" (and {len(folded[path])} more that are gone with it)"
        yield finding(
            rule,
            Place.start(path),
            f"{path} is not what publish wrote: {by} has changed it{more}",
            remedy,
        )


def _forged(
    git: Git, repository: Repository, commits: Iterable[PublishCommit], head: str
) -> Iterator[Finding]:
    """Publish commits that a change brings along: the remote's branch does not have them."""
    from compiler.rules import finding
    from compiler.runs.upstream import upstream

    tip = upstream(git, repository)
    if tip is None:
        return
    own = set(git.text("rev-list", f"{tip}..{head}").split())
    brought = [made.commit for made in commits if made.commit in own]
    if brought:
        names = ", ".join(commit[:12] for commit in brought[:5])
        yield finding(
            "publish-commit-in-change",
            Place(LEDGER),
            f"the change brings publish commits of its own ({names}): only publish makes them, "
            "after the merge",
            f"take them out (git rebase --onto), then git checkout {tip[:12]} -- {OVERLAYS}/",
        )


def _lost(commits: list[PublishCommit]) -> Iterator[Finding]:
    from compiler.rules import finding

    known = {made.ledger for made in commits} | {"none", ""}
    for made in commits:
        if made.previous not in known:
            yield finding(
                "lost-publish-commit",
                Place(LEDGER),
                f"the publish commit {made.commit[:12]} follows one that is no longer in the "
                f"history (ledger {made.previous[:12]}): runs may have been forgotten",
                "restore the dropped commits from a clone or the reflog, then publish again",
            )


def _of_ledgers(
    git: Git, repository: Repository, commits: list[PublishCommit]
) -> Iterator[Finding]:
    """Entries that the newest ledger has lost, and numbers that were used twice."""
    from compiler.rules import finding
    from compiler.runs.shelf import Shelf
    from compiler.runs.union import Contradiction, union

    shelf = Shelf(git, repository.cache)
    by_path: dict[str, dict[str, None]] = {}
    for rows in shelf.changes([made.commit for made in commits]).values():
        for path, blob in rows:
            if blob and path.startswith(f"{LEDGER}/"):
                by_path.setdefault(path, {})[blob] = None
    shelf.fill((path, blob) for path, blobs in by_path.items() for blob in blobs)
    shelf.save()
    now = {path: blob for path, (_, blob) in git.files(commits[0].commit, LEDGER).items()}
    latest: dict[str, Ledger] = {}
    for path, blob in now.items():
        if blob in by_path.get(path, ()):
            ledger, problems = shelf.ledger(path, blob)
            yield from problems
            if ledger is not None:
                latest[path] = ledger
    for path, blobs in sorted(by_path.items()):
        ledgers = shelf.ledgers((path, blob) for blob in blobs)
        if not ledgers:
            continue
        try:
            whole = union(ledgers)
        except Contradiction as error:
            yield finding(
                "reused-run-number",
                Place.start(path),
                f"{path}: {error}",
                "restore the branch from before the commit that wrote the wrong one",
            )
            continue
        last = latest.get(path)
        have = {run.number for run in last.runs} if last is not None else set[int]()
        gone = [f"r{run.number}" for run in whole.runs if run.number not in have]
        # A ledger moves to another file where `was` joins two jobs: its runs are there then.
        if gone and not _moved(latest.values(), whole):
            yield finding(
                "lost-run",
                Place.start(path),
                f"{path} has lost {', '.join(gone)}, which an earlier publish wrote",
                "publish again: it takes every run from all publish commits together",
            )


def _moved(latest: Iterable[Ledger], whole: Ledger) -> bool:
    wanted = {run.number for run in whole.runs}
    return any(
        ledger.team == whole.team
        and whole.job in ledger.also
        and wanted <= {run.number for run in ledger.runs}
        for ledger in latest
    )


def _remembered(repository: Repository) -> str | None:
    with suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(load_cached(repository.cache / "history.json"))
        if kept["compiler"] == __version__:
            return str(kept["head"])
    return None


def _remember(repository: Repository, head: str) -> None:
    """Keep the clean commit; a cache that cannot be written is worked without."""
    text = json.dumps({"compiler": __version__, "head": head})
    save_cached(repository.cache / "history.json", text.encode())
