"""Whether a publish does nothing but undo: then the stop guard warns, and withholds nothing.

Whoever goes back wants the runs of today stopped. `plan` and `publish` ask the same question of
the same commits, so that publish does what plan said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext, suppress
from datetime import datetime

from compiler.diagnostics import CompilerError
from compiler.runs.chain import PublishCommit
from compiler.runs.git import Git
from compiler.runs.supposition import Supposition, supposing

# What `git revert` writes into the message, in every form: plain, -m, --reference.
_UNDONE = re.compile(r"^This reverts commit ([0-9a-f]{7,64})\b", re.MULTILINE)
_MOST = 200
_OVERLAYS = b"overlays"

Quiet = Callable[[Git, str], bool]


def pure_revert(
    git: Git, commits: Iterable[PublishCommit], source: str, at: datetime, quiet: Quiet
) -> bool:
    """Whether all that `source` stops is stopped by undoing what had been merged.

    Either everything that people write stands as at an earlier publish; or there are reverts since
    the last publish that stood otherwise, they are what they say, and without them nothing would
    stop. `commits` are the publish commits, the newest first; `at` is the present time;
    `quiet` says whether a publish of a commit would stop nothing.
    """
    published = list(commits)
    sources = list(dict.fromkeys(made.source for made in published if made.source))
    written = people_wrote(git, [source, *sources])
    now = written.get(source)
    others = [name for name in sources if written.get(name, now) != now]
    if now is None or not others:
        return False
    last = others[0]
    if any(written.get(name) == now for name in sources[sources.index(last) :]):
        return True
    reverts, undone = _reverts(git, last, source)
    if not undone:
        return False
    supposed = nullcontext(git) if isinstance(git, Supposition) else supposing(git.root, at)
    with supposed as other, suppress(CompilerError):
        # Where git cannot undo them without a person, nobody can tell.
        before = other.reverted(source, other.named(reverts, source))
        after = other.reverted(before, other.named(undone, before))
        same = people_wrote(other, [after, before])
        return same[after] == now and (same[before] == written[last] or quiet(other, before))
    return False


def _reverts(git: Git, last: str, source: str) -> tuple[list[str], list[str]]:
    """The reverts since `last`, and the commits that they undo, less what they undo of each other.

    A message is not believed: whether undoing these gives what is there is for others to see.
    """
    words = ("--grep=^This reverts commit ", "--format=%H%x00%B%x01", f"{last}..{source}")
    named: dict[str, list[str]] = {}
    for row in git.text("log", f"--max-count={_MOST}", *words).split("\x01"):
        commit, _, message = row.strip("\n").partition("\0")
        if commit:
            names = (git.known(name) for name in _UNDONE.findall(message))
            named[commit] = [name for name in names if name is not None]
    taken_back = {name for names in named.values() for name in names}
    left = [name for commit in named if commit not in taken_back for name in named[commit]]
    return list(named), [name for name in dict.fromkeys(left) if name not in named]


def people_wrote(git: Git, commits: list[str]) -> Mapping[str, bytes]:
    """What commits hold besides `overlays/`, to be compared; those that are gone are left out."""
    place = git.prefix.rstrip("/")
    trees = git.names(f"{commit}:{place}" for commit in commits)
    contents = git.blobs(tree for tree in trees if tree)
    return {
        commit: _without_overlays(contents[tree], len(tree) // 2)
        for commit, tree in zip(commits, trees, strict=True)
        if tree
    }


def _without_overlays(tree: bytes, size: int) -> bytes:
    """A tree object without its entry `overlays`; `size` is that of a binary object name."""
    kept, position = bytearray(), 0
    while position < len(tree):
        end = tree.index(b"\0", position)
        after = end + 1 + size
        if tree[position:end].partition(b" ")[2] != _OVERLAYS:
            kept += tree[position:after]
        position = after
    return bytes(kept)
