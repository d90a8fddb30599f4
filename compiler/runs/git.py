"""Git, as publish and plan use it: trees read at a commit, commits made without a work tree."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from compiler.diagnostics import CompilerError

# A publish must not depend on the settings of whoever runs it.
_PLAIN = {
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}


class GitError(CompilerError):
    """Git refused; the message is its own last line."""

    status = 1


class Rejected(GitError):
    """The remote has moved on: what was computed is no longer about its tip."""


class Git:
    """One git repository; `prefix` is where the config repository stands within it, or ''."""

    def __init__(self, root: Path) -> None:
        self.root = root
        top = self._ask("rev-parse", "--show-toplevel")
        if top is None:
            raise CompilerError(
                "this needs git history, and the folder is not in a git repository",
                "run it in a clone",
            )
        if self._ask("rev-parse", "--is-shallow-repository") == "true":
            raise CompilerError(
                "this is a shallow clone, and the history that it lacks is needed",
                "clone with full history (actions/checkout: fetch-depth: 0)",
            )
        inner = root.resolve().relative_to(Path(top).resolve()).as_posix()
        self.prefix = "" if inner == "." else f"{inner}/"

    def run(
        self, *words: str, data: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> bytes:
        """What a git command prints; raises GitError where it fails."""
        status, out, said = self.attempt(*words, data=data, env=env)
        if status:
            raise GitError(f"git {words[0]}: {said[-1] if said else 'failed'}")
        return out

    def attempt(
        self, *words: str, data: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, list[str]]:
        """The exit status of a git command, what it prints, and the lines of its complaint."""
        done = subprocess.run(
            ["git", "-c", "core.quotePath=false", "-c", "gc.auto=0", *words],
            cwd=self.root,
            input=data,
            capture_output=True,
            env={**os.environ, **_PLAIN, **(env or {})},
            check=False,
        )
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return done.returncode, done.stdout, said

    def text(self, *words: str) -> str:
        """What a git command prints, as text without the final newline."""
        return self.run(*words).decode("utf-8", "surrogateescape").strip("\n")

    def _ask(self, *words: str) -> str | None:
        try:
            return self.text(*words)
        except (GitError, OSError):
            return None

    def commit(self, name: str) -> str:
        """The full hash of a commit; raises CompilerError for an unknown name."""
        found = self._ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        if not found:
            raise CompilerError(f"there is no commit `{name}`", "fetch it, or name another")
        return found

    def known(self, name: str) -> str | None:
        """The full hash of a commit, or None."""
        return self._ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") or None

    def merge_base(self, one: str, other: str) -> str | None:
        """The best common ancestor of two commits, or None."""
        return self._ask("merge-base", one, other) or None

    def time(self, commit: str) -> datetime:
        """When a commit was made (the committer's time)."""
        seconds = int(self.text("show", "-s", "--format=%ct", commit))
        return datetime.fromtimestamp(seconds, UTC)

    def message(self, commit: str) -> str:
        """A commit's message."""
        return self.text("show", "-s", "--format=%B", commit)

    def default_branch(self, remote: str) -> str:
        """The remote's default branch; raises CompilerError where it does not say."""
        head = self._ask("ls-remote", "--symref", remote, "HEAD") or ""
        for line in head.splitlines():
            if line.startswith("ref: refs/heads/"):
                return line.removeprefix("ref: refs/heads/").partition("\t")[0]
        raise CompilerError(
            f"the remote `{remote}` does not say its default branch", "name it with --branch"
        )

    def fetch(self, remote: str, branch: str) -> str | None:
        """The remote's tip of a branch, with its history here; None where there is no such branch."""
        tip = (self._ask("ls-remote", remote, f"refs/heads/{branch}") or "").partition("\t")[0]
        if not tip:
            return None
        self.run("fetch", "--quiet", "--no-tags", remote, f"refs/heads/{branch}")
        return tip

    @contextmanager
    def checkout(self, commit: str, *paths: str) -> Generator[Path]:
        """The tree of a commit (its part under the prefix) in a folder of its own."""
        with tempfile.TemporaryDirectory(prefix="runwright-tree-") as name:
            folder = Path(name).resolve() / "repository"
            folder.mkdir()
            where = f"{commit}:{self.prefix.rstrip('/')}" if self.prefix else commit
            existing = [
                path
                for path in paths
                if self._ask("cat-file", "-e", f"{commit}:{self.prefix}{path}") is not None
            ]
            if paths and not existing:
                yield folder
                return
            archive = self.run("archive", "--format=tar", where, *existing)
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                # Links stay links: whether they lead out is for the check to say.
                tar.extractall(folder, filter="tar")
            yield folder

    def files(self, commit: str, folder: str) -> dict[str, tuple[str, str]]:
        """The files under a folder at a commit: path (from the prefix) -> (mode, blob)."""
        listed = self._ask(
            "ls-tree", "-r", "-z", "--full-tree", commit, "--", f"{self.prefix}{folder}/"
        )
        made: dict[str, tuple[str, str]] = {}
        for row in (listed or "").split("\0"):
            if row:
                meta, _, path = row.partition("\t")
                mode, _, blob = meta.split()
                made[path.removeprefix(self.prefix)] = (mode, blob)
        return made

    def blobs(self, names: Iterable[str]) -> dict[str, bytes]:
        """The contents of blobs, in one process."""
        wanted = list(dict.fromkeys(names))
        if not wanted:
            return {}
        out = self.run("cat-file", "--batch", data="".join(f"{n}\n" for n in wanted).encode())
        made: dict[str, bytes] = {}
        position = 0
        for name in wanted:
            end = out.index(b"\n", position)
            size = int(out[position:end].split()[2])
            made[name] = out[end + 1 : end + 1 + size]
            position = end + 1 + size + 1
        return made

    def written(self, commits: Iterable[str], folder: str) -> dict[str, list[str]]:
        """The blobs that commits wrote under a folder, by path, in one process."""
        listed = "".join(f"{commit}\n" for commit in commits).encode()
        if not listed:
            return {}
        words = ("diff-tree", "--stdin", "-r", "-m", "--root", "--no-renames", "--full-index", "-z")
        out = self.run(*words, "--", f":(top){self.prefix}{folder}", data=listed)
        made: dict[str, dict[str, None]] = {}
        fields = iter(out.decode("utf-8", "surrogateescape").split("\0"))
        for field in fields:
            # The hash of a commit stands before its rows; a row begins with a colon.
            meta = field.rpartition("\n")[2]
            if meta.startswith(":"):
                path, blob = next(fields), meta.split()[3]
                if set(blob) != {"0"}:
                    made.setdefault(path.removeprefix(self.prefix), {})[blob] = None
        return {path: list(blobs) for path, blobs in made.items()}

    def names(self, expressions: Iterable[str]) -> list[str]:
        """The names of objects (`commit:path`), '' for each that is not there, in one process."""
        wanted = "".join(f"{expression}\n" for expression in expressions).encode()
        if not wanted:
            return []
        out = self.run("cat-file", "--batch-check=%(objectname)", data=wanted).decode()
        return ["" if row.endswith(" missing") else row for row in out.splitlines()]

    def store(self, data: bytes) -> str:
        """Keep a blob; returns its name."""
        return self.run("hash-object", "-w", "--stdin", data=data).decode().strip()

    def tree_with(self, base: str | None, folder: str, files: Mapping[str, str]) -> str:
        """The tree of a commit with one folder replaced by these files (path -> blob).

        No file outside that folder is touched.
        """
        with tempfile.TemporaryDirectory(prefix="runwright-index-") as name:
            env = {"GIT_INDEX_FILE": str(Path(name) / "index")}
            if base is not None:
                self.run("read-tree", base, env=env)
                listed = self.run(
                    "ls-files", "-z", "--full-name", "--", f":(top){self.prefix}{folder}", env=env
                )
                if listed:
                    self.run(
                        "update-index",
                        "--force-remove",
                        "-z",
                        "--stdin",
                        data=listed,
                        env=self._top(env),
                    )
            rows = "".join(
                f"100644 {blob}\t{self.prefix}{path}\0" for path, blob in sorted(files.items())
            )
            self.run(
                "update-index",
                "--add",
                "-z",
                "--index-info",
                data=rows.encode("utf-8", "surrogateescape"),
                env=env,
            )
            return self.run("write-tree", env=env).decode().strip()

    def _top(self, env: Mapping[str, str]) -> dict[str, str]:
        return {**env, "GIT_WORK_TREE": self.text("rev-parse", "--show-toplevel")}

    def subtree(self, tree: str, folder: str) -> str:
        """The name of a folder's tree; '' where there is none."""
        return self._ask("rev-parse", "--verify", "--quiet", f"{tree}:{self.prefix}{folder}") or ""

    def make_commit(self, tree: str, parents: Iterable[str], message: str) -> str:
        """A commit object; nothing points to it yet."""
        words = [word for parent in parents for word in ("-p", parent)]
        env: dict[str, str] = {}
        if self._ask("config", "user.email") is None:
            env = {
                "GIT_AUTHOR_NAME": "runwright",
                "GIT_AUTHOR_EMAIL": "runwright@localhost",
                "GIT_COMMITTER_NAME": "runwright",
                "GIT_COMMITTER_EMAIL": "runwright@localhost",
            }
        made = self.run("commit-tree", tree, *words, data=message.encode(), env=env)
        return made.decode().strip()

    def push(self, remote: str, commit: str, branch: str, expected: str | None) -> None:
        """Move the remote's branch from `expected` to `commit`; raises Rejected where it has moved."""
        lease = f"--force-with-lease=refs/heads/{branch}:{expected or ''}"
        try:
            self.run("push", "--quiet", lease, remote, f"{commit}:refs/heads/{branch}")
        except GitError as error:
            now = (self._ask("ls-remote", remote, f"refs/heads/{branch}") or "").partition("\t")[0]
            if now != (expected or "") and now != commit:
                raise Rejected(str(error)) from None
            if now != commit:
                raise


@dataclass(frozen=True, slots=True)
class PublishCommit:
    """A commit of `publish`: its source, and the ledgers that it wrote."""

    commit: str
    source: str
    ledger: str
    previous: str


def publish_commits(git: Git, tip: str) -> list[PublishCommit]:
    """Every publish commit that can be reached from `tip`, newest first.

    A commit is one if its trailers name the very ledger tree that it holds: a copied message over
    another tree is not believed.
    """
    trailers = ("Source", "Ledger", "Previous-Ledger")
    values = "%x00".join(f"%(trailers:key={name},valueonly,separator=%x2C)" for name in trailers)
    out = git.text("log", "--topo-order", f"--format=%H%x00{values}%x01", "--grep=^Ledger: ", tip)
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
