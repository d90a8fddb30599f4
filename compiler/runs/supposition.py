"""Commits that nobody has made: the work tree, a merge, a revert.

Their objects lie in a folder of their own and are gone afterwards: neither the work tree, nor the
index, nor the repository's own objects are touched, and nothing is fetched.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from compiler.diagnostics import CompilerError
from compiler.runs.git import Git, GitError
from compiler.runs.refusals import complaint

CACHE = ".cache"
# The first version with `git merge-tree --write-tree`.
_MERGES = (2, 38)


class Conflict(CompilerError):
    """Two changes that cannot both be made: a person has to decide."""

    status = 1


@contextmanager
def supposing(root: Path, at: datetime) -> Generator[Supposition]:
    """A repository in which commits can be supposed, for a while; see `Supposition`."""
    with tempfile.TemporaryDirectory(prefix="runwright-plan-") as name:
        yield Supposition(root, Path(name).resolve(), at)


class Supposition(Git):
    """A repository in which commits can be supposed; `folder` takes their objects.

    Supposed commits are of the time `at`, so that the same question has the same answer. `scratch`
    is a folder for whoever asks, gone with the rest.
    """

    def __init__(self, root: Path, folder: Path, at: datetime) -> None:
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        objects = folder / "objects"
        objects.mkdir()
        self._supposed: dict[str, str] = {}
        super().__init__(root)
        own = (root / self.text("rev-parse", "--git-path", "objects")).resolve()
        others = [str(own), os.environ.get("GIT_ALTERNATE_OBJECT_DIRECTORIES", "")]
        stamp = f"@{int(at.timestamp())} +0000"
        self._supposed = {
            "GIT_OBJECT_DIRECTORY": str(objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.pathsep.join(filter(None, others)),
            "GIT_COMMITTER_DATE": stamp,
            "GIT_AUTHOR_DATE": stamp,
            **{
                f"GIT_{who}_{what}": f"runwright{'@localhost' * (what == 'EMAIL')}"
                for who in ("AUTHOR", "COMMITTER")
                for what in ("NAME", "EMAIL")
            },
        }

    def attempt(
        self, *words: str, data: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, list[str]]:
        """As `Git.attempt`, among the supposed objects too."""
        return super().attempt(*words, data=data, env={**self._supposed, **(env or {})})

    def tree(self, commit: str) -> str:
        """The name of a commit's tree."""
        return self.text("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}")

    def work_tree(self) -> str:
        """A commit of the files as they are now, on HEAD; HEAD itself where nothing has changed.

        What git ignores is not in it. The index is copied first, which spares most of the hashing.
        """
        head = self.commit("HEAD")
        with tempfile.TemporaryDirectory(prefix="runwright-index-") as name:
            index = Path(name) / "index"
            env = {"GIT_INDEX_FILE": str(index)}
            own = self.root / self.text("rev-parse", "--git-path", "index")
            if own.is_file():
                # With its time: git looks again at files that are as new as the index itself.
                shutil.copy2(own, index)
            else:
                self.run("read-tree", head, env=env)
            here = f":(top){self.prefix}" if self.prefix else ":/"
            self.run("add", "-A", "--", here, env=env)
            # Not as an exclusion of `add`: git fails where that names an ignored path.
            cache = f":(top){self.prefix}{CACHE}"
            self.run("rm", "-r", "-q", "--cached", "--ignore-unmatch", "--", cache, env=env)
            tree = self.run("write-tree", env=env).decode().strip()
        return head if tree == self.tree(head) else self.make_commit(tree, [head], "the work tree")

    def merged(self, one: str, two: str) -> str:
        """The merge of two commits; raises Conflict where there is none without a person.

        Files under `overlays/` do not count: only publish writes them, and nothing here reads them.
        """
        words = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", one, two)
        status, out, said = self.attempt(*words)
        if status not in (0, 1) or not out:
            self._refuse_old()
            raise GitError(f"git merge-tree: {complaint(said)}")
        tree, *paths = out.decode("utf-8", "surrogateescape").rstrip("\0").split("\0")
        overlays = f"{self.prefix}overlays/"
        hurt = [path for path in dict.fromkeys(paths) if path and not path.startswith(overlays)]
        if status and hurt:
            raise Conflict(", ".join(hurt[:5]) + (" …" if len(hurt) > 5 else ""))
        return self.make_commit(tree, [one, two], "a merge")

    def _refuse_old(self) -> None:
        """Raise CompilerError where git is older than what merges without a work tree."""
        version = self.text("version").removeprefix("git version ")
        numbers = [int(part) for part in version.split(".")[:2] if part.isdigit()]
        if tuple(numbers) < _MERGES:
            raise CompilerError(
                f"git {'.'.join(map(str, _MERGES))} or newer is needed, and this is {version}",
                "install a newer git: planning a revert, or a change beside others, merges trees",
            )

    def reverted(self, tip: str, commits: Iterable[str]) -> str:
        """`tip` without what these commits changed, undone in their order.

        A merge is undone as its first parent saw it (`git revert -m 1`). Raises Conflict where a
        person would have to decide.
        """
        for commit in commits:
            parents = self.text("rev-list", "--parents", "-n", "1", commit).split()[1:]
            before = self.tree(parents[0]) if parents else self.run("mktree", data=b"")
            tree = before if isinstance(before, str) else before.decode().strip()
            # Seen from `commit`, this is the change that undoes it: so a merge is a revert.
            undone = self.make_commit(tree, [commit], "undone")
            try:
                merged = self.merged(tip, undone)
            except Conflict as error:
                raise Conflict(
                    f"reverting {commit[:12]} conflicts in {error}",
                    "name the later commits that touch it too, or revert by hand and plan that",
                ) from None
            message = f"Revert {commit[:12]}\n\nThis reverts commit {commit}.\n"
            tip = self.make_commit(self.tree(merged), [tip], message)
        return tip

    def named(self, words: Iterable[str], tip: str) -> list[str]:
        """The commits that words name (`SHA`, `A..B`), the newest first, each once.

        Raises CompilerError for an unknown one and for one that `tip` does not contain.
        """
        wanted: set[str] = set()
        for word in words:
            first, dots, last = word.partition("..")
            if dots:
                ends = (self.commit(first or "HEAD"), self.commit(last.lstrip(".") or "HEAD"))
                out = self.text("rev-list", "--first-parent", f"{ends[0]}..{ends[1]}")
                if not out:
                    raise CompilerError(f"`{word}` holds no commit", "write OLDER..NEWER")
                wanted |= set(out.split())
            else:
                wanted.add(self.commit(word))
        order = [
            name for name in self.text("rev-list", "--topo-order", tip).split() if name in wanted
        ]
        for name in sorted(wanted - set(order)):
            raise CompilerError(
                f"{name[:12]} is not in {tip[:12]}: there is nothing to revert",
                "name a commit that the branch contains",
            )
        return order

    def upstream(self, remote: str) -> str | None:
        """The remote's default branch as this clone remembers it, without asking the remote."""
        status, out, _ = self.attempt("symbolic-ref", "--quiet", f"refs/remotes/{remote}/HEAD")
        if not status:
            return out.decode().strip().removeprefix(f"refs/remotes/{remote}/")
        known = [name for name in ("main", "master") if self.known(f"refs/remotes/{remote}/{name}")]
        return known[0] if len(known) == 1 else None

    def has_remote(self, remote: str) -> bool:
        """Whether this clone knows a remote of this name."""
        return remote in self.remotes()

    def changed(self, old: str, new: str) -> list[str]:
        """The paths (from the prefix) that differ between two commits."""
        out = self.text("diff", "--name-only", "--no-renames", "-z", old, new)
        paths = [path for path in out.split("\0") if path.startswith(self.prefix)]
        return [path.removeprefix(self.prefix) for path in paths]
