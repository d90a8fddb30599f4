"""Reading absolute paths, with what precisely is wrong with one that is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from posixpath import normpath

from compiler.scalars import fault, letters, shown

_HELP = "write a path that begins with / and has no `..` and no colon"


def absolute_path(pattern: str) -> Callable[[object], str]:
    """A reader of absolute paths of the form `pattern`."""

    def read(value: object) -> str:
        word = letters(value, "an absolute path")
        if re.fullmatch(pattern, word):
            return word
        raise fault("bad-path", *_told(word, value))

    return read


def _told(word: str, value: object) -> tuple[str, str]:
    if not word.startswith("/"):
        return f"{shown(value)} is not an absolute path", _HELP
    if ":" in word:
        return f"{shown(value)} has a colon, which cannot stand in a path here", _HELP
    steps = word.split("/")
    if ".." in steps or "." in steps:
        step = ".." if ".." in steps else "."
        meant = normpath("/" + word.lstrip("/"))
        return f"{shown(value)} has a step `{step}`, which can lead elsewhere", f"write {meant}"
    return f"{shown(value)} has a character that no path can have", _HELP
