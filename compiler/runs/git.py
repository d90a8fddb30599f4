"""Git, as publish and plan use it: trees read at a commit, commits made without a work tree."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, field

from compiler.diagnostics import CompilerError
from compiler.runs.refusals import advice, complaint
from compiler.suggestions import choose

# A publish must not depend on the settings of whoever runs it.
_PLAIN = {
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
}
# A hook hands these down; they are about its own command.
_INHERITED = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"}
    | {f"GIT_{kind}_PATHSPECS" for kind in ("LITERAL", "GLOB", "NOGLOB", "ICASE")}
)
# With `grep.patternType=fixed` no publish commit would be found, and everything would start anew.
_SETTINGS = (
    "core.quotePath=false",
    "gc.auto=0",
    "grep.patternType=basic",
    "log.showSignature=false",
    "log.follow=false",
    "trailer.separators=:",
    "i18n.logOutputEncoding=utf-8",
)
_SET = tuple(word for setting in _SETTINGS for word in ("-c", setting))
MARKS = "refs/runwright/"
_LINK, _MODULE = "120000", "160000"


class NoGit(CompilerError):
    """The folder is in no git repository."""


class GitError(CompilerError):
    """Git refused; the message is its own, see `runs.refusals`."""

    status = 1


class Rejected(GitError):
    """The remote has moved on: what was computed is no longer about its tip."""


class Git:
    """One git repository; `prefix` is where the config repository stands within it, or ''."""

    def __init__(self, root: Path) -> None:
        self.root = root
        words = ("rev-parse", "--is-shallow-repository", "--show-toplevel")
        status, out, said = self.attempt(*words)
        if any("dubious ownership" in line for line in said):
            raise CompilerError(
                "git does not trust this folder, which belongs to another user",
                f"git config --global --add safe.directory {root}",
            )
        if status:
            raise NoGit(
                "this needs git history, and the folder is not in a git repository",
                "run it in a clone",
            )
        shallow, _, top = os.fsdecode(out).strip("\n").partition("\n")
        if shallow == "true":
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
            raise GitError(f"git {words[0]}: {complaint(said)}")
        return out

    def attempt(
        self, *words: str, data: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, list[str]]:
        """The exit status of a git command, what it prints, and the lines of its complaint."""
        done = subprocess.run(
            ["git", *_SET, *words],
            cwd=self.root,
            input=data,
            capture_output=True,
            env={**_inherited(), **_PLAIN, **(env or {})},
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

    def remotes(self) -> list[str]:
        """The names of the remotes that this clone has."""
        return self.text("remote").split()

    def remote(self, name: str) -> Remote:
        """What a remote has now.

        Raises CompilerError where there is none of that name, and GitError where it cannot be
        asked.
        """
        asked = ("ls-remote", "--symref", name, "HEAD", "refs/heads/*", f"{MARKS}*")
        status, answer, said = self.attempt(*asked)
        if status:
            known = self.remotes()
            if name not in known and not _is_place(self.root, name):
                raise CompilerError(
                    f"this clone has no remote `{name}`",
                    f"{choose(name, known)} with --remote"
                    if known
                    else f"git remote add {name} URL",
                )
            raise GitError(
                f"git ls-remote: {complaint(said)}",
                f"`git ls-remote {name}` must work here: look at its address (git remote -v) and "
                "at what this machine may read",
            )
        out = answer.decode("utf-8", "surrogateescape")
        made = Remote(name)
        for line in out.splitlines():
            value, _, ref = line.partition("\t")
            if value.startswith("ref: refs/heads/") and ref == "HEAD":
                made.default = value.removeprefix("ref: refs/heads/")
            elif ref.startswith("refs/heads/"):
                made.heads[ref.removeprefix("refs/heads/")] = value
            elif ref.startswith(MARKS):
                made.marks[ref.removeprefix(MARKS)] = value
        return made

    def fetch(self, remote: str, refs: Iterable[str]) -> None:
        """Bring refs of a remote here, with their history; no ref of this clone changes."""
        words = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-prune")
        self.run("fetch", *words, remote, *refs)

    def contains(self, tip: str, commit: str) -> bool:
        """Whether a commit is in the history of another."""
        status, _, said = self.attempt("merge-base", "--is-ancestor", commit, tip)
        if status not in (0, 1):
            raise GitError(f"git merge-base: {complaint(said)}")
        return status == 0

    @contextmanager
    def checkout(self, commit: str, *paths: str) -> Generator[Path]:
        """The tree of a commit (its part under the prefix) in a folder of its own.

        Without `paths` everything but `overlays/`, which nothing reads there.
        """
        with tempfile.TemporaryDirectory(prefix="runwright-tree-") as name:
            folder = Path(name).resolve() / "repository"
            folder.mkdir()
            wanted = {
                path: found
                for path, found in self.files(commit, *paths).items()
                if paths or not path.startswith("overlays/")
            }
            contents = self.blobs(blob for mode, blob in wanted.values() if mode != _MODULE)
            # Links last, so that nothing is written through one.
            for path, (mode, blob) in sorted(wanted.items(), key=lambda item: item[1][0] == _LINK):
                # Not `git archive`: its attributes (export-ignore, filters, line ends) would hide
                # a declaration, which then reads as removed, or change it.
                file = folder / path
                if ".." in file.parts:
                    raise CompilerError(f"{path!r} in {commit[:12]} leads out of the repository")
                file.parent.mkdir(parents=True, exist_ok=True)
                if mode == _MODULE:
                    file.mkdir()
                elif mode == _LINK:
                    # Links stay links: whether they lead out is for the check to say.
                    file.symlink_to(os.fsdecode(contents[blob]))
                else:
                    file.write_bytes(contents[blob])
            yield folder

    def files(self, commit: str, *folders: str) -> dict[str, tuple[str, str]]:
        """The files in some folders, or in all: path (from the prefix) -> (mode, blob)."""
        where = [f"{self.prefix}{folder}/" for folder in folders] or [self.prefix]
        words = ("ls-tree", "-r", "-z", "--full-tree", commit)
        listed = self.run(*words, "--", *(place for place in where if place))
        made: dict[str, tuple[str, str]] = {}
        for row in listed.decode("utf-8", "surrogateescape").split("\0"):
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
            head = out[position:end].split()
            if len(head) != 3:
                raise GitError(f"git cat-file: {name} is missing")
            size = int(head[2])
            made[name] = out[end + 1 : end + 1 + size]
            position = end + 1 + size + 1
        return made

    def changes(self, commits: Iterable[str], folder: str) -> dict[str, list[tuple[str, str]]]:
        """What commits did under a folder: (path, blob) each, '' for a deletion, in one process."""
        wanted = list(commits)
        made: dict[str, list[tuple[str, str]]] = {commit: [] for commit in wanted}
        if not wanted:
            return {}
        words = ("diff-tree", "--stdin", "-r", "-m", "--root", "--no-renames", "--full-index", "-z")
        listed = "".join(f"{commit}\n" for commit in wanted).encode()
        out = self.run(*words, "--", f":(top,literal){self.prefix}{folder}", data=listed)
        cells = iter(out.decode("utf-8", "surrogateescape").split("\0"))
        rows: list[tuple[str, str]] = []
        for cell in cells:
            # The hash of a commit stands before its rows; a row begins with a colon.
            commit, _, meta = cell.rpartition("\n")
            if not meta.startswith(":"):
                commit, meta = meta, ""
            if commit:
                rows = made[commit.partition(" ")[0]]
            if meta:
                blob = meta.split()[3]
                path = next(cells).removeprefix(self.prefix)
                rows.append((path, "" if set(blob) == {"0"} else blob))
        return made

    def names(self, expressions: Iterable[str]) -> list[str]:
        """The names of objects (`commit:path`), '' for each that is not there, in one process."""
        wanted = "".join(f"{expression}\n" for expression in expressions).encode()
        if not wanted:
            return []
        out = self.run("cat-file", "--batch-check=%(objectname)", data=wanted).decode()
        return ["" if row.endswith(" missing") else row for row in out.splitlines()]

    def store(self, contents: Iterable[bytes]) -> dict[bytes, str]:
        """Keep blobs, in one process; returns their names."""
        wanted = list(dict.fromkeys(contents))
        if not wanted:
            return {}
        with tempfile.TemporaryDirectory(prefix="runwright-blobs-") as name:
            paths = [Path(name) / str(number) for number in range(len(wanted))]
            for path, data in zip(paths, wanted, strict=True):
                path.write_bytes(data)
            listed = "".join(f"{path}\n" for path in paths).encode()
            out = self.run("hash-object", "-w", "--no-filters", "--stdin-paths", data=listed)
        return dict(zip(wanted, out.decode().split(), strict=True))

    def tree_with(self, base: str | None, gone: Iterable[str], files: Mapping[str, str]) -> str:
        """The tree of a commit without some paths, and with files (path -> blob).

        No other file is touched.
        """
        with tempfile.TemporaryDirectory(prefix="runwright-index-") as name:
            env = {"GIT_INDEX_FILE": str(Path(name) / "index")}
            if base is not None:
                self.run("read-tree", base, env=env)
            rows = [f"0 {'0' * len(base or '')}\t{self.prefix}{path}\0" for path in sorted(gone)]
            rows += [
                f"100644 {blob}\t{self.prefix}{path}\0" for path, blob in sorted(files.items())
            ]
            data = "".join(rows).encode("utf-8", "surrogateescape")
            words = ("--add", "--replace", "-z", "--index-info")
            self.run("update-index", *words, data=data, env=env)
            return self.run("write-tree", env=env).decode().strip()

    def make_commit(self, tree: str, parents: Iterable[str], message: str) -> str:
        """A commit object; nothing points to it yet."""
        words = [word for parent in parents for word in ("-p", parent)]
        known = (self._ask("config", "--name-only", "--get-regexp", "^user[.]") or "").split()
        env = {
            f"GIT_{role}_{what}": value
            for what, value in (("NAME", "runwright"), ("EMAIL", "runwright@localhost"))
            if f"user.{what.lower()}" not in known
            for role in ("AUTHOR", "COMMITTER")
            if not os.environ.get(f"GIT_{role}_{what}")
        }
        made = self.run("commit-tree", tree, *words, data=message.encode(), env=env)
        return made.decode().strip()

    def push(self, remote: str, commit: str, branch: str, expected: str | None) -> None:
        """Move the branch from `expected` to `commit`; raises Rejected where it has moved."""
        ref = f"refs/heads/{branch}"
        words = ("push", "--quiet", "--no-verify", "--no-follow-tags", "--no-recurse-submodules")
        lease = f"--force-with-lease={ref}:{expected or ''}"
        status, _, said = self.attempt(*words, lease, remote, f"{commit}:{ref}")
        if status:
            # The answer may have been lost on its way: what counts is where the branch is. Who
            # cannot ask either learns of the push, which is what failed first.
            refused = f"git push: {complaint(said)}"
            try:
                now = self.remote(remote).heads.get(branch)
            except GitError:
                now = expected
            if now not in (expected, commit):
                raise Rejected(refused)
            if now != commit:
                name = "the remote" if _is_place(self.root, remote) else remote
                raise GitError(refused, advice(said, name, branch))

    def mark(self, remote: str, commit: str, branch: str, expected: str | None) -> None:
        """Note at the remote, beside its branches, the newest publish commit of a branch.

        The note outlives a force-push of the branch, which is how one is noticed. Where the remote
        takes no such refs, or another publisher was quicker, that is all that is lost.
        """
        ref = f"{MARKS}{branch}"
        words = ("push", "--quiet", "--no-verify", "--no-follow-tags", "--no-recurse-submodules")
        lease = f"--force-with-lease={ref}:{expected or ''}"
        self.attempt(*words, lease, remote, f"{commit}:{ref}")


class Remote(Struct):
    """The branches of a remote, and the publish commits that were noted for them."""

    name: str
    default: str | None = None
    heads: dict[str, str] = field(default_factory=dict[str, str])
    marks: dict[str, str] = field(default_factory=dict[str, str])


def _is_place(root: Path, name: str) -> bool:
    """Whether a remote is given by its address: a URL, or a folder."""
    return ":" in name or "/" in name or (root / name).is_dir()


def _inherited() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _INHERITED}
