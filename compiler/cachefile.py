"""One file of a cache, read and written so that nothing in its place can do harm.

A cache may hold anything: it is restored from elsewhere, or shared. Whoever opens a pipe waits for
its other end.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


def load_cached(path: Path) -> bytes:
    """The bytes of a file; raises OSError where there is none, or something else has its place."""
    with open(path, "rb", opener=_without_waiting) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(f"{path} is no plain file")
        return stream.read()


def save_cached(path: Path, data: bytes) -> bool:
    """Put the bytes in the place of the file in one step; False where that cannot be done."""
    import tempfile

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(draft).replace(path)
    except BaseException as error:
        with suppress(OSError):
            Path(draft).unlink()
        if isinstance(error, OSError):
            return False
        raise
    return True


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
