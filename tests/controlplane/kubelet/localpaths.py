"""Paths of a container, and the folders of this machine that stand for them.

Nothing is mounted, for that takes rights that a test should not need: wherever a word, a variable
or a mounted file names such a path, the folder's is written in its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path


class LocalPaths:
    """The folders of one container, by the container's paths."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self.folders = dict(sorted(folders.items(), key=lambda item: -len(item[0])))
        names = "|".join(re.escape(path) for path in self.folders)
        # Not the middle of a longer path, and not the beginning of a longer name.
        self._named = re.compile(rf"(?<![\w./-])(?:{names})(?![\w-]|\.\w)") if names else None

    def here(self, text: str) -> str:
        """The text with this machine's paths."""
        if self._named is None:
            return text
        return self._named.sub(lambda found: str(self.folders[found[0]]), text)

    def rewrite(self, file: Path) -> None:
        """The same within a text file; any other stays as it is."""
        content = file.read_bytes()
        try:
            file.write_bytes(self.here(content.decode()).encode())
        except UnicodeDecodeError:
            return
