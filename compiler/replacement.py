"""One authored file written anew: the old content or the new one, never a part of either."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from compiler.refusals import CompilerError


def replace_file(path: Path, data: bytes) -> None:
    """Give a file new content in one step, or make it, with the folders around it.

    A file that is there keeps its mode, and a link stays a link: what it leads to is written.
    Raises OSError where the disk refuses, and CompilerError where there can be no such folder; the
    old content is then still there.
    """
    target = path.resolve()
    _make_folder(target.parent, path)
    # Not `.yaml`: whatever stops the program must not leave another declaration behind.
    handle, name = tempfile.mkstemp(".tmp", f".{target.name}-", target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_mask())
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _make_folder(folder: Path, path: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, FileNotFoundError, NotADirectoryError):
        # Below a file, or in a file system of the kernel such as /proc.
        around = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
        why = f"{around} takes no new folders" if around.is_dir() else f"{around} is no folder"
        raise CompilerError(f"{path} cannot be written: {why}", "name another place") from None


def _mask() -> int:
    """The modes that new files are made without; there is no other way to read it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
