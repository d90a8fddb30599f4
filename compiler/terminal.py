"""What a stream can show: colours, any letter, and how wide a text is on it."""

from __future__ import annotations

import io
import os
import unicodedata
from typing import TextIO


def colored(choice: str, stream: TextIO | None) -> bool:
    """Whether to colour: as `--color` says, else only on a terminal that has not opted out.

    NO_COLOR counts as no-color.org has it: any value but the empty one.
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream is not None and stream.isatty()


def speak_utf8(stream: TextIO) -> None:
    """Make a stream take any text, whatever the locale, with LF line ends.

    File names may hold bytes that are no text; they are printed as escapes.
    """
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


def visible(text: str) -> str:
    """The text on one line, with what a terminal would obey or hide written as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def width(text: str) -> int:
    """The columns that visible text takes on a terminal."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def _escape(character: str) -> str:
    number = ord(character)
    if character in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[character]
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
