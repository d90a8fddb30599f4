"""The ledgers in force: the union of what every reachable publish commit wrote."""

from __future__ import annotations

from msgspec import Struct, field

from compiler.diagnostics import CompilerError, Finding
from compiler.runs.entries import Ledger
from compiler.runs.fold import Key
from compiler.runs.git import Git, PublishCommit, publish_commits
from compiler.runs.ledgerfile import parse
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
    # The blobs that publish commits wrote under overlays/, by path, the newest first.
    written: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    @property
    def head(self) -> str:
        """The ledger tree of the newest publish commit; 'none' before the first."""
        return self.commits[0].ledger if self.commits else "none"


def read_books(git: Git, *tips: str | None) -> Books:
    """The ledgers in force at the tip of the published branch.

    Further tips are of branches that were published to before this one. Raises LostHistory where a
    publish commit has been dropped from the branch (a force-push), and CompilerError where two of
    them contradict one another.
    """
    known = [tip for tip in tips if tip is not None]
    commits = publish_commits(git, *known) if known else []
    if not commits:
        _never_published(git, known[:1])
        return Books({}, [], [])
    _chained(commits)
    written = git.written((made.commit for made in commits), "overlays")
    blobs = {path: of_path for path, of_path in written.items() if path.startswith(f"{FOLDER}/")}
    contents = git.blobs(blob for of_path in blobs.values() for blob in of_path)
    by_key: dict[Key, list[Ledger]] = {}
    findings: list[Finding] = []
    for path, of_path in blobs.items():
        for blob in of_path:
            ledger, problems = parse(path, contents[blob])
            findings += problems
            if ledger is not None:
                by_key.setdefault((ledger.team, ledger.job), []).append(ledger)
    try:
        ledgers = {key: union(every) for key, every in sorted(by_key.items())}
    except Contradiction as error:
        raise CompilerError(
            f"the ledgers contradict one another: {error}",
            "restore the branch from before the commit that wrote the wrong one",
        ) from None
    return Books(ledgers, commits, findings, written)


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
