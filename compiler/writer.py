"""The only module that puts results on the disk: a whole tree at once, or nothing.

The new tree grows in a folder beside the old one, and takes its place in one step of the file
system. Whatever stops the program before that step (a crash, a full disk, a signal) leaves the
old tree as it was; after it, the new one is there. As folders are slow to make and to remove, only
the smallest folder around all changes is replaced, which is one step as well.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat
from collections.abc import Generator, Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from compiler.diagnostics import CompilerError
from compiler.disk import Disk

MARKER = ".runwright.json"
"""Names the files in a tree that were written here: what is not in it is somebody else's."""


class Written(NamedTuple):
    """What a write did: how many files it made or changed, and which it took away, by path."""

    changed: int
    gone: AbstractSet[str]


def ensure_ours(folder: Path, root: Path) -> None:
    """Raise the CompilerError that `write` would raise for a folder that is not its to write."""
    folder = _named(folder)
    _permit(folder, root)
    _known(folder)


def write(
    folder: Path, files: Mapping[str, bytes], root: Path, disk: Disk | None = None
) -> Written:
    """Make the tree of a folder hold these files; says what changed for that.

    `files` are the contents by path below the folder. Files that an earlier build wrote and that
    are not in `files` are removed; those of other people stay. `root` is the repository, whose
    `overlays/` is never written.

    Raises CompilerError, with the old tree untouched, where the folder is not empty and was not
    written here, is in `overlays/` or around the repository, holds something else under the name
    of a new file, or where the disk refuses.
    """
    disk = disk or Disk()
    folder = _named(folder)
    _permit(folder, root)
    with _explained(folder):
        _clean(folder, disk)
        known = _known(folder)
        changed = _changed(folder, files, known)
        if changed or known != files.keys():
            _change(folder, files, known, changed, disk)
    return Written(len(changed & files.keys()), changed - files.keys())


def _named(folder: Path) -> Path:
    folder = Path(os.path.abspath(folder))  # noqa: PTH100 (a link to a folder keeps its name)
    with _explained(folder):
        return folder.resolve() if folder.is_symlink() else folder


def _change(
    folder: Path,
    files: Mapping[str, bytes],
    known: AbstractSet[str],
    changed: AbstractSet[str],
    disk: Disk,
) -> None:
    inner = _around(folder, changed) if known else ""
    while inner and not any(name.startswith(f"{inner}/") for name in files):
        inner = inner.rpartition("/")[0]
    temporary = folder.with_name(f"{_prefix(folder)}{token_hex(4)}")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        disk.make_folder(temporary)
        with _held(temporary):
            if not changed:
                _mark(temporary, folder, files.keys(), disk)
                return
            new = temporary / "new"
            disk.make_folder(new)
            disk.write(temporary / "place", inner.encode())
            _fill(new, folder, inner, files, known, disk)
            if not inner:
                disk.write(new / MARKER, _marker(files.keys()))
                _replace(new, folder, disk)
                return
            # A name in the marker without a file does no harm; a file without its name there would
            # be taken for somebody else's.
            if not files.keys() <= known:
                _mark(temporary, folder, files.keys() | known, disk)
            _replace(new, folder / inner, disk)
            if files.keys() != known:
                with suppress(OSError):
                    _mark(temporary, folder, files.keys(), disk)
    finally:
        # What cannot be removed now is removed by the next build.
        with suppress(OSError):
            disk.remove(temporary)


@contextmanager
def _explained(folder: Path) -> Generator[None]:
    """A refusal of the disk, in a sentence."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise CompilerError(
            f"{folder.name}/ cannot be written ({reason}); what was there is untouched",
            "make room or give leave to write there, or choose another folder",
        ) from error


def _prefix(folder: Path) -> str:
    return f".{folder.name}.runwright-"


def _permit(folder: Path, root: Path) -> None:
    """Refuse folders that a build must never replace."""
    real, root = folder.resolve(), root.resolve()
    overlays = root / "overlays"
    if real == overlays or overlays in real.parents:
        raise CompilerError(
            "overlays/ is written by publish alone, after the merge",
            "choose another folder, such as build/",
        )
    if real == root or real in root.parents:
        raise CompilerError(
            f"{folder} holds the repository itself", "choose another folder, such as build/"
        )


def _known(folder: Path) -> AbstractSet[str]:
    """The files that were written into the folder the last time, by path; there or not."""
    try:
        entries = sorted(entry.name for entry in os.scandir(folder))
    except FileNotFoundError:
        return frozenset()
    except NotADirectoryError:
        raise CompilerError(f"{folder} is a file", "choose another folder") from None
    if not entries:
        return frozenset()
    try:
        marker: Any = json.loads((folder / MARKER).read_bytes())
        return frozenset(str(path) for path in marker["files"])
    except (OSError, ValueError, KeyError, TypeError):
        raise CompilerError(
            f"{folder} holds {entries[0]}, and was not written by a build",
            "choose an empty folder, or remove what is there",
        ) from None


def _marker(names: Iterable[str]) -> bytes:
    content = {
        "about": "The files here that a build wrote, and that the next one may replace.",
        "version": 1,
        "files": sorted(names),
    }
    return json.dumps(content, indent=0).encode() + b"\n"


def _mark(temporary: Path, folder: Path, names: Iterable[str], disk: Disk) -> None:
    marker = temporary / token_hex(4)
    disk.write(marker, _marker(names))
    disk.rename(marker, folder / MARKER)


def _changed(folder: Path, files: Mapping[str, bytes], known: AbstractSet[str]) -> set[str]:
    """The files that the tree does not hold as they should be, and those that should be gone."""
    changed = {name for name in known - files.keys() if _facts(folder / name) is not None}
    top = f"{folder}/"
    for name, data in files.items():
        facts = _facts(top + name)
        if facts is not None and name not in known:
            raise _in_the_way(folder, name)
        if facts is None or not stat.S_ISREG(facts.st_mode) or facts.st_size != len(data):
            changed.add(name)
            continue
        with open(top + name, "rb", buffering=0) as stream:  # noqa: PTH123 (a third of the time)
            if stream.readall() != data:
                changed.add(name)
    return changed


def _facts(path: Path | str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _around(folder: Path, changed: AbstractSet[str]) -> str:
    """The smallest folder of the old tree that all changes are in; `''` is the tree itself."""
    if not changed:
        return ""
    parts = os.path.commonpath([f"{folder}/{name.rpartition('/')[0]}" for name in changed])
    found = ""
    for part in Path(parts).relative_to(folder).parts:
        facts = _facts(folder / found / part)
        if facts is None or not stat.S_ISDIR(facts.st_mode):
            break
        found = f"{found}/{part}".lstrip("/")
    return found


def _fill(
    new: Path,
    folder: Path,
    inner: str,
    files: Mapping[str, bytes],
    known: AbstractSet[str],
    disk: Disk,
) -> None:
    """Make what is to take the place of `inner`, a folder of the tree."""
    prefix = f"{inner}/" if inner else ""
    folders = {""}
    for name in sorted(files):
        if name.startswith(prefix):
            rest = name[len(prefix) :]
            path = new / rest
            _folders(new, rest.rpartition("/")[0], folders, disk)
            if name not in known or not _linked(folder / name, path, files[name], disk):
                disk.write(path, files[name])
    for path in _foreign(folder, inner, known):
        name = path.relative_to(folder).as_posix()
        target = new / name[len(prefix) :]
        if target.exists() or any(p.is_file() for p in target.parents if new in p.parents):
            raise _in_the_way(folder, name)
        _folders(new, name[len(prefix) :].rpartition("/")[0], folders, disk)
        disk.link(path, target)


def _in_the_way(folder: Path, name: str) -> CompilerError:
    return CompilerError(
        f"{folder.name}/{name} is in the way, and was not written by a build",
        "move it to another place",
    )


def _folders(top: Path, folder: str, made: set[str], disk: Disk) -> None:
    if folder not in made:
        _folders(top, folder.rpartition("/")[0], made, disk)
        disk.make_folder(top / folder)
        made.add(folder)


def _linked(old: Path, new: Path, data: bytes, disk: Disk) -> bool:
    """Take an unchanged file over from the old tree; False where it has to be written.

    The content is compared under the new name, where nobody else puts another file.
    """
    try:
        facts = old.lstat()
        if not stat.S_ISREG(facts.st_mode) or facts.st_size != len(data):
            return False
        disk.link(old, new)
    except FileNotFoundError:
        return False
    if new.read_bytes() == data:
        return True
    disk.remove(new)
    return False


def _foreign(folder: Path, inner: str, known: AbstractSet[str]) -> list[Path]:
    """The files in a folder of the tree that no build wrote, links among them."""
    found: list[Path] = []
    for parent, folders, names in os.walk(folder / inner):
        links = [name for name in folders if Path(parent, name).is_symlink()]
        for name in (*names, *links):
            path = Path(parent, name)
            shown = path.relative_to(folder).as_posix()
            if shown in known or shown == MARKER:
                continue
            mode = path.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                raise CompilerError(
                    f"{folder.name}/{shown} is no plain file, and was not written by a build",
                    "move it to another place",
                )
            found.append(path)
    return sorted(found)


def _replace(new: Path, folder: Path, disk: Disk) -> None:
    if not folder.exists() or not any(os.scandir(folder)):
        disk.rename(new, folder)
    else:
        disk.exchange(new, folder)


def _clean(folder: Path, disk: Disk) -> None:
    """Put back and remove what builds left behind that did not come to their end."""
    pattern = re.compile(re.escape(_prefix(folder)) + r"[0-9a-f]{8}")
    try:
        leftovers = [Path(e.path) for e in os.scandir(folder.parent) if pattern.fullmatch(e.name)]
    except (FileNotFoundError, NotADirectoryError):
        return
    for path in sorted(leftovers):
        with suppress(FileNotFoundError), _held(path) as free:
            if free:
                aside = path / "new.old"
                if aside.exists():
                    place = folder / (path / "place").read_text()
                    if not place.exists():
                        disk.rename(aside, place)
                disk.remove(path)


@contextmanager
def _held(folder: Path) -> Generator[bool]:
    """Whether no other build is at work in the folder; while the block runs, none takes it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        except OSError:  # a file system without locks
            yield True
        else:
            yield True
    finally:
        os.close(handle)
