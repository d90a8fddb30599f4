"""The ledgers in force: the union of what every reachable publish commit wrote."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, field

from compiler.diagnostics import CompilerError, Finding
from compiler.runs.chain import PublishCommit, publish_commits
from compiler.runs.entries import Ledger
from compiler.runs.fold import Key
from compiler.runs.git import Git
from compiler.runs.shelf import Shelf
from compiler.runs.union import Contradiction, union

FOLDER = "overlays/ledger"


class LostHistory(CompilerError):
    """A publish commit that the chain names can no longer be reached."""

    status = 1


class Books(Struct):
    """All ledgers, and the publish commits that they come from, newest first."""

    ledgers: dict[Key, Ledger]
    commits: list[PublishCommit]
    findings: list[Finding]
    # The publish commits that wrote or deleted a file under overlays/, by its path, newest first.
    touched: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    @property
    def head(self) -> str:
        """The ledger tree of the newest publish commit; 'none' before the first."""
        return self.commits[0].ledger if self.commits else "none"


def read_books(git: Git, *tips: str | None, cache: Path | None = None) -> Books:
    """The ledgers in force at the tip of the published branch.

    Further tips are of branches that were published to before this one. What is read is kept in the
    folder `cache`. Raises LostHistory where a publish commit has been dropped from the branch (a
    force-push), and CompilerError where two of them contradict one another.
    """
    known = [tip for tip in tips if tip is not None]
    commits = publish_commits(git, *known) if known else []
    if not commits:
        _never_published(git, known[:1])
        return Books({}, [], [])
    _chained(commits)
    shelf = Shelf(git, cache)
    touched: dict[str, list[str]] = {}
    versions: dict[tuple[str, str], None] = {}
    for commit, rows in shelf.changes([made.commit for made in commits]).items():
        for path, blob in rows:
            touched.setdefault(path, []).append(commit)
            if blob and path.startswith(f"{FOLDER}/"):
                versions[path, blob] = None
    shelf.fill(versions)
    shelf.save()
    by_key: dict[Key, list[Ledger]] = {}
    for ledger in shelf.ledgers(versions):
        by_key.setdefault((ledger.team, ledger.job), []).append(ledger)
    findings = [item for version in versions for item in shelf.ledger(*version)[1]]
    try:
        ledgers = {key: union(every) for key, every in sorted(by_key.items())}
    except Contradiction as error:
        raise CompilerError(
            f"the ledgers contradict one another: {error}",
            "restore the branch from before the commit that wrote the wrong one",
        ) from None
    return Books(ledgers, commits, findings, touched)


def _never_published(git: Git, tips: list[str]) -> None:
    """There is nothing that publish wrote: then there must be no ledger either."""
    for tip in tips:
        if git.files(tip, FOLDER):
            raise LostHistory(
                f"{FOLDER} is there, but none of the commits that wrote it: runs may have been "
                "forgotten",
                "bring their history back (git reflog, a clone); if there never was one, remove "
                "the folder",
            )


def _chained(commits: list[PublishCommit]) -> None:
    known = {commit.ledger for commit in commits}
    for commit in commits:
        if commit.previous not in known | {"none", ""}:
            raise LostHistory(
                f"the publish commit {commit.commit[:12]} follows one that is no more on the "
                f"branch (ledger {commit.previous[:12]}): runs may have been forgotten",
                "restore the dropped commits (git reflog, a clone), then publish again",
            )
