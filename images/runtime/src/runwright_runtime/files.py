"""Files that are the old ones or the new ones, wherever a program is stopped."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from runwright_runtime.failures import Unwritable


def save(path: Path, data: bytes) -> None:
    """Put content in the place of a file, whole, and have it on the disk when this returns.

    The content is written beside the file, under a hidden name of this process, and renamed: a
    reader sees the old content or the new one, and so does whoever comes after a crash. Raises
    Unwritable, and then leaves the file as it was.
    """
    beside = path.with_name(f".{path.name}.{os.uname().nodename}.{os.getpid()}.new")
    try:
        try:
            with beside.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except BaseException:
            with suppress(OSError):
                beside.unlink()
            raise
        sync_folder(path.parent)
    except OSError as error:
        raise Unwritable(f"cannot write {path}: {error.strerror}") from error


def sync_folder(folder: Path) -> None:
    """Have the new name itself on the disk. Not every file system can sync a folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)
