"""The commits of publish, found in the history by what they say and what they hold."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from compiler.runs.git import Git


class PublishCommit(Struct, frozen=True):
    """A commit of `publish`: its source, and the ledgers that it wrote."""

    commit: str
    source: str
    ledger: str
    previous: str


def publish_commits(git: Git, *tips: str) -> list[PublishCommit]:
    """Every publish commit that can be reached from the tips, newest first.

    A commit is one if its trailers name the very ledger tree that it holds: a copied message over
    another tree is not believed.
    """
    trailers = ("Source", "Ledger", "Previous-Ledger")
    values = "%x00".join(f"%(trailers:key={name},valueonly,separator=%x2C)" for name in trailers)
    words = ("--topo-order", f"--format=%H%x00{values}%x01", "--grep=^Ledger: ")
    out = git.text("log", *words, *dict.fromkeys(tips), "--")
    rows = [[field.strip() for field in row.split("\0")] for row in out.split("\x01")]
    rows = [row for row in rows if len(row) == 4 and row[2]]
    trees = git.names(f"{row[0]}:{git.prefix}overlays/ledger" for row in rows)
    return [
        PublishCommit(*row)
        for row, tree in zip(rows, trees, strict=True)
        if (tree or "none") == row[2]
    ]


def observed_trailers(git: Git, commits: Iterable[PublishCommit]) -> list[tuple[str, str]]:
    """The clusters that publish commits say were observed, each with the time (`Observed:`)."""
    names = "".join(f"{made.commit}\n" for made in commits).encode()
    if not names:
        return []
    out = git.run(
        "log",
        "--no-walk=unsorted",
        "--stdin",
        "--format=%(trailers:key=Observed,valueonly)",
        data=names,
    ).decode("utf-8", "replace")
    rows = [line.split() for line in out.splitlines()]
    return [(row[0], row[1]) for row in rows if len(row) == 2 and _is_time(row[1])]


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
