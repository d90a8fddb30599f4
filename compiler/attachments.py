"""The files of the repository that a job mounts."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping as MappingType
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from compiler.diagnostics import Place
from compiler.model import File, Route
from compiler.source import MOST
from compiler.suggestions import nearest

# A ConfigMap holds at most 1 MiB (k8s.io/api/core/v1 MaxSecretSize); the rest is for its keys.
LARGEST = 1_000_000


class Problem(Struct, frozen=True):
    """Why a file cannot be mounted; `route` leads from the `files` mapping to the entry."""

    rule: str
    route: Route
    message: str
    help: str
    place: Place | None = None


def read_files(root: Path, files: MappingType[str, str]) -> tuple[tuple[File, ...], list[Problem]]:
    """The files (path in the container -> path in the repository) with their content."""
    made: list[File] = []
    problems: list[Problem] = []
    for path, source in files.items():
        content, problem = _read(root, source, path)
        if problem is not None:
            problems.append(problem)
        if len(problems) == MOST:
            # Each names the nearest file beside it, and a list can hold thousands.
            return tuple(made), problems
        if content is not None:
            made.append(File(path, source, content, hashlib.sha256(content).hexdigest()))
    total = sum(len(file.content) for file in made)
    if total > LARGEST:
        problems.append(
            Problem(
                "files-too-large",
                (),
                f"these files have {total:,} bytes together; a ConfigMap holds at most 1 MiB",
                "put large files into the image or on a claim",
            )
        )
    return tuple(made), problems


def _read(root: Path, source: str, path: str) -> tuple[bytes | None, Problem | None]:
    target = root / source
    if _in_git(root, target):
        return None, Problem(
            "untracked-file",
            (path,),
            f"`{source}` is git's own: no commit holds it, and passwords often stand there",
            "name a file that is committed",
        )
    if not Path(os.path.realpath(target)).is_relative_to(os.path.realpath(root)):
        return None, Problem(
            "link-out-of-repository",
            (path,),
            f"`{source}` leads out of the repository",
            "name a file inside it",
        )
    try:
        there = target.is_file()
    except OSError:  # a name that no file can have
        there = False
    if not there:
        return None, Problem(
            "missing-file",
            (path,),
            f"there is no file `{source}` in the repository",
            _near(target, source),
        )
    if target.stat().st_size > 4 * LARGEST:
        return None, Problem(
            "files-too-large",
            (path,),
            f"`{source}` is larger than a ConfigMap can be",
            "put it on a claim",
        )
    content = target.read_bytes()
    if content.startswith(b"#!") and b"\r\n" in content:
        return content, Problem(
            "script-with-carriage-returns",
            (path,),
            f"{source} has Windows line ends: "
            "the program named in its first line would not be found",
            "save it with LF line ends (for git: `*.sh text eol=lf` in .gitattributes)",
            Place(source, 1, 1, 1, 3),
        )
    return content, None


def _in_git(root: Path, target: Path) -> bool:
    """Whether a path, or the file that it leads to, is within `.git`, however it is spelt."""
    real = os.path.relpath(os.path.realpath(target), os.path.realpath(root))
    plain = os.path.relpath(target, root)
    return any(".git" in Path(name.casefold()).parts for name in (real, plain))


def _near(target: Path, source: str) -> str:
    folder = target.parent
    names: list[str] = []
    with suppress(OSError):
        names = [path.name for path in folder.iterdir() if path.is_file()]
    near = nearest(target.name, names)
    if near is None:
        return "write its path from the root of the repository"
    return f"write {Path(source).with_name(near).as_posix()}"
