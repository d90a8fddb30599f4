"""Which files there are in `images/<name>/`, of which an image is made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def image_files(root: Path, image: str) -> frozenset[str]:
    """The paths of the files of an image's folder, relative to it and with `/`; empty without one.

    What begins with a dot, and what Python leaves behind, is no part of an image.
    """
    try:
        return frozenset(_below(str(root / "images" / image), ""))
    except OSError:
        return frozenset()


def _below(folder: str, inside: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name[0] == "." or entry.name == "__pycache__":
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _below(entry.path, f"{inside}{entry.name}/")
            else:
                yield f"{inside}{entry.name}"
