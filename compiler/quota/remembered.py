"""The last verdict of a repository, and what was read of its ledgers.

Where no declaration, no policy and no ledger has changed since, the last verdict is the answer. A
cache that is missing, broken or of another compiler is a verdict from the start, never an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from compiler.cachefile import load_cached, save_cached
from compiler.diagnostics import CompilerError
from compiler.memory import Checked, Judged
from compiler.quota.month import Use
from compiler.repository import Repository

LEDGER = "overlays/ledger"
T = TypeVar("T")


class Kept(Struct):
    """A verdict: findings as rows of `compiler.memory`, the limits that are passed as JSON.

    `head` is the commit that the order of those that wait comes from, '' where none do.
    """

    key: str
    head: str
    findings: list[list[Any]]
    verdict: list[dict[str, Any]]


class Page(Struct):
    """What is asked again of one ledger: its jobs' names and the use of each run.

    `claims` is what came of its job under `asked`, which stands for all that it came from.
    """

    stamp: str
    team: str
    job: str
    also: list[str]
    runs: list[Use]
    asked: str = ""
    claims: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def stamps(repository: Repository) -> dict[str, str]:
    """The ledgers in the tree by path, each with its time and size."""
    found: dict[str, str] = {}
    for folder in _scanned(repository.root / LEDGER):
        for entry in _scanned(folder):
            if entry.name.endswith(".yaml"):
                facts = entry.stat()
                path = f"{LEDGER}/{folder.name}/{entry.name}"
                found[path] = f"{facts.st_mtime_ns} {facts.st_size} {facts.st_ino}"
    return found


def content(repository: Repository, path: str) -> bytes:
    """The bytes of a ledger; empty where it cannot be read."""
    try:
        return (repository.root / path).read_bytes()
    except OSError:
        return b""


def asked_about(repository: Repository, paths: Iterable[Path]) -> list[str]:
    """Files and folders as the paths of jobs begin."""
    return sorted(repository.relative(path.resolve()) for path in paths)


def _scanned(folder: Path | os.DirEntry[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def key_of(checked: Checked, ledgers: dict[str, str], wanted: Iterable[str]) -> str:
    """What a verdict rests on: everything around the declarations, they themselves, the ledgers."""
    digest = sha256(f"{checked.context}\n{sorted(wanted)}\n".encode())
    for job in checked.jobs:
        digest.update(asked_of(job).encode())
    digest.update(repr(sorted(ledgers.items())).encode())
    errors = (item.code for item in checked.findings if item.severity.rank == 0)
    digest.update(" ".join(errors).encode())
    return digest.hexdigest()


def asked_of(job: Judged) -> str:
    """What a job's outcome rests on besides its ledger and its surroundings."""
    mounted = repr(sorted(job.depends.items())) if job.depends else ""
    # The name of a file may be no text.
    return f"{job.path!a} {job.digest} {mounted}\n"


def recall(repository: Repository, key: str) -> Kept | None:
    """The verdict of this key, if it was the last one and no commit has changed its order."""
    kept = _read(repository, "verdict.json", Kept)
    if kept is None or kept.key != key or (kept.verdict and kept.head != head_of(repository)):
        return None
    return kept


def head_of(repository: Repository) -> str:
    """The commit at hand; '' where there is none, or no git."""
    from compiler.runs.git import Git

    try:
        return Git(repository.root).known("HEAD") or ""
    except CompilerError:
        return ""


def pages(repository: Repository) -> dict[str, Page]:
    """What is known of ledgers, by path."""
    return _read(repository, "books.json", dict[str, Page]) or {}


def keep(repository: Repository, kept: Kept, known: dict[str, Page]) -> None:
    """Remember a verdict and its ledgers; a folder that cannot be written is worked without."""
    _write(repository, "verdict.json", kept)
    if known:
        _write(repository, "books.json", known)


def _read(repository: Repository, name: str, of: type[T]) -> T | None:
    try:
        return msgspec.json.decode(load_cached(repository.cache / name), type=of)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None


def _write(repository: Repository, name: str, value: object) -> None:
    save_cached(repository.cache / name, msgspec.json.encode(value))
