"""What an image is built from: the files of its folder and of the runtime, as one hash."""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from compiler.imagefiles import image_files
from compiler.images import Lock
from compiler.runs.git import Git

RUNTIME = "runtime"
# Read by the compiler and by people; no image holds them.
_BESIDE = frozenset({"image.yaml", "image.yml", "args.schema.json"})


def source_hash(root: Path, image: str, git: Git | None) -> str | None:
    """The hash of what an image is built from, None where there is no such folder.

    Of the files in `images/<image>/` and `images/runtime/`: names, whether they may be run, and
    contents. Tests, pages and what only the compiler reads do not count, nor do hidden files.
    Within git only files that it tracks are looked at, as they are in the work tree.
    """
    files = list(_files(root, image, git))
    if not files:
        return None
    if image != RUNTIME:
        files += _files(root, RUNTIME, git)
    total = sha256()
    for name in sorted(files):
        path = root / "images" / name
        if path.is_symlink():
            kind, content = "link", os.fsencode(path.readlink())
        elif path.is_file():
            kind = "run" if path.stat().st_mode & 0o100 else "file"
            content = path.read_bytes()
        else:
            # Tracked, and deleted in the work tree.
            continue
        total.update(f"{kind} {sha256(content).hexdigest()} {name}\n".encode())
    return f"sha256:{total.hexdigest()}"


def _files(root: Path, folder: str, git: Git | None) -> Iterable[str]:
    names: Iterable[str]
    if git is None:
        names = image_files(root, folder)
    else:
        out = git.run("ls-files", "-z", "--", f"images/{folder}")
        start = f"images/{folder}/"
        listed = out.decode("utf-8", "surrogateescape").split("\0")
        names = [name.removeprefix(start) for name in listed if name.startswith(start)]
    return [f"{folder}/{name}" for name in names if _counts(name)]


def _counts(name: str) -> bool:
    parts = name.split("/")
    if any(part.startswith(".") or part == "__pycache__" for part in parts):
        return False
    return "tests" not in parts[:-1] and name not in _BESIDE and not name.endswith(".md")


def git_of(root: Path) -> Git | None:
    """The git repository that the folder is in, None where there is none that can be asked."""
    from compiler.diagnostics import CompilerError

    try:
        return Git(root)
    except (CompilerError, OSError):
        return None


def changed(root: Path, lock: Lock) -> frozenset[str]:
    """The images of the lock whose folder is no longer what their digest was built from.

    An entry without `source`, and an example, is about no folder.
    """
    pinned = {
        name: entry.source
        for name, entry in lock.images.items()
        if entry.source is not None and not entry.example
    }
    if not pinned:
        return frozenset()
    git = git_of(root)
    return frozenset(
        name
        for name, source in pinned.items()
        if (now := source_hash(root, name, git)) is not None and now != source
    )
