"""One authored file written anew: the old content or the new one, never a part of either."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Give a file new content in one step, or make it, with the folders around it.

    A file that is there keeps its mode, and a link stays a link: what it leads to is written.
    Raises OSError where the disk refuses; the old content is then still there.
    """
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
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


def _mask() -> int:
    """The modes that new files are made without; there is no other way to read it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
