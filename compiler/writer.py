"""The only module that puts results on the disk: a whole tree at once, or nothing.

The new tree grows in a folder beside the old one, and takes its place in one step of the file
system. Whatever stops the program before that step (a crash, a full disk, a signal) leaves the
old tree as it was; after it, the new one is there.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any

from compiler.diagnostics import CompilerError

MARKER = ".runwright.json"
"""Names the files in a tree that were written here: what is not in it is somebody else's."""

_EXCHANGE = 2  # RENAME_EXCHANGE of Linux and RENAME_SWAP of macOS


class Disk:
    """The operations that change the disk; tests put one in that fails at a chosen step."""

    def make_folder(self, path: Path) -> None:
        path.mkdir()

    def write(self, path: Path, data: bytes) -> None:
        """A new file with this content; raises FileExistsError where there is one."""
        with path.open("xb") as stream:
            stream.write(data)

    def link(self, source: Path, path: Path) -> None:
        """The same file under a second name, or a copy where the file system has no such thing."""
        try:
            os.link(source, path, follow_symlinks=False)
        except FileNotFoundError:
            raise
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EEXIST):
                raise
            shutil.copy2(source, path, follow_symlinks=False)

    def exchange(self, one: Path, other: Path) -> None:
        """Two folders change places, in one step where the system can do that."""
        if not _exchange(one, other):
            aside = one.with_name(f"{one.name}.old")
            other.rename(aside)
            try:
                one.rename(other)
            except BaseException:
                aside.rename(other)
                raise
            aside.rename(one)

    def rename(self, source: Path, path: Path) -> None:
        """Move a folder to a place where there is none, or an empty one."""
        source.rename(path)

    def remove(self, path: Path) -> None:
        """Remove a file or a folder with everything in it."""
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


@contextmanager
def staged(
    folder: Path, files: Mapping[str, bytes], root: Path, disk: Disk | None = None
) -> Generator[Path]:
    """The new tree of a folder, beside it; it takes the folder's place when the block ends well.

    `files` are the contents by path below the folder. Files of the old tree that were written
    here and are not in `files` are gone in the new one; those of other people stay. `root` is the
    repository, whose `overlays/` is never written.

    Raises CompilerError, with the old tree untouched, where the folder is not empty and was not
    written here, is in `overlays/` or around the repository, holds something else under the name
    of a new file, or where the disk refuses.
    """
    disk = disk or Disk()
    folder = Path(os.path.abspath(folder))  # noqa: PTH100 (a link to a folder keeps its name)
    if folder.is_symlink():
        folder = folder.resolve()
    _permit(folder, root)
    with _explained(folder):
        _clean(folder, disk)
    known = _known(folder)
    temporary = folder.with_name(f"{_prefix(folder)}{token_hex(4)}")
    try:
        with _explained(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            disk.make_folder(temporary)
        with _held(temporary):
            with _explained(folder):
                _fill(temporary, folder, files, known, disk)
            yield temporary
            with _explained(folder):
                _replace(temporary, folder, disk)
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


def _known(folder: Path) -> dict[str, str]:
    """The digests of the files that were written into the folder the last time, by path."""
    try:
        entries = sorted(entry.name for entry in os.scandir(folder))
    except FileNotFoundError:
        return {}
    except NotADirectoryError:
        raise CompilerError(f"{folder} is a file", "choose another folder") from None
    except OSError as error:
        raise CompilerError(f"{folder} cannot be read ({error.strerror})") from None
    if not entries:
        return {}
    try:
        marker: Any = json.loads((folder / MARKER).read_bytes())
        return {str(path): str(digest) for path, digest in marker["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise CompilerError(
            f"{folder} holds {entries[0]}, and was not written by a build",
            "choose an empty folder, or remove what is there",
        ) from None


def _fill(
    temporary: Path, folder: Path, files: Mapping[str, bytes], known: Mapping[str, str], disk: Disk
) -> None:
    digests: dict[str, str] = {}
    folders: set[Path] = {temporary}
    for name in sorted(files):
        data = files[name]
        path = temporary / name
        _folders(path.parent, folders, disk)
        digests[name] = digest = sha256(data).hexdigest()[:32]
        if known.get(name) != digest or not _linked(folder / name, path, data, disk):
            disk.write(path, data)
    for path in _foreign(folder, known):
        name = path.relative_to(folder).as_posix()
        target = temporary / name
        if name in files or target.exists() or _parent_is_file(target, temporary):
            raise CompilerError(
                f"{folder.name}/{name} is in the way, and was not written by a build",
                "move it to another place",
            )
        _folders(target.parent, folders, disk)
        disk.link(path, target)
    marker = {
        "about": "The files in this folder that a build wrote; the next one replaces them.",
        "version": 1,
        "files": digests,
    }
    disk.write(temporary / MARKER, json.dumps(marker, indent=0).encode() + b"\n")


def _folders(path: Path, made: set[Path], disk: Disk) -> None:
    if path not in made:
        _folders(path.parent, made, disk)
        disk.make_folder(path)
        made.add(path)


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


def _foreign(folder: Path, known: Mapping[str, str]) -> list[Path]:
    """The files in the folder that no build wrote, links among them."""
    found: list[Path] = []
    for parent, folders, names in os.walk(folder):
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


def _parent_is_file(path: Path, top: Path) -> bool:
    return any(p.is_file() for p in path.parents if p != top and top in p.parents)


def _replace(temporary: Path, folder: Path, disk: Disk) -> None:
    if not folder.exists() or not any(os.scandir(folder)):
        disk.rename(temporary, folder)
    else:
        disk.exchange(temporary, folder)


def _clean(folder: Path, disk: Disk) -> None:
    """Put back and remove what builds left behind that did not come to their end."""
    pattern = re.compile(re.escape(_prefix(folder)) + r"[a-z0-9_]+(\.old)?")
    with suppress(FileNotFoundError):
        leftovers = [Path(e.path) for e in os.scandir(folder.parent) if pattern.fullmatch(e.name)]
        for path in sorted(leftovers, key=lambda path: not path.name.endswith(".old")):
            with suppress(OSError), _held(path) as free:
                if not free:
                    continue
                if path.name.endswith(".old") and not folder.exists():
                    disk.rename(path, folder)
                else:
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


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False where the system or file system cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    first, second = os.fsencode(one), os.fsencode(other)
    if sys.platform == "darwin":
        call = getattr(library, "renamex_np", None)
        arguments: tuple[Any, ...] = (first, second, ctypes.c_uint(_EXCHANGE))
    else:
        call = getattr(library, "renameat2", None)
        here = ctypes.c_int(-100)  # AT_FDCWD; both paths are absolute
        arguments = (here, first, here, second, ctypes.c_uint(_EXCHANGE))
    if call is None:
        return False
    if call(*arguments) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV):
        return False
    raise OSError(number, os.strerror(number), str(one))
