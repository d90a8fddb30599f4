"""The operations of the file system with which a tree is put in the place of another."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
from pathlib import Path
from typing import Any

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

    def exchange(self, new: Path, old: Path) -> None:
        """Two folders change places, in one step where the system can do that.

        Where it cannot, the old one is beside the new one for a moment, as `new.old`.
        """
        if not _exchange(new, old):
            aside = new.with_name("new.old")
            self.rename(old, aside)
            try:
                self.rename(new, old)
            except OSError:
                self.rename(aside, old)
                raise

    def rename(self, source: Path, path: Path) -> None:
        """Move a folder to a place where there is none, or an empty one; a file to any place."""
        source.replace(path)

    def remove(self, path: Path) -> None:
        """Remove a file or a folder with everything in it."""
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


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
