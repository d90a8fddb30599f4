"""The text of a file, and what is wrong with its bytes.

A `Source` is what every later stage quotes from. Text that a reviewer cannot see as it is (bidi
controls, zero-width characters), that YAML forbids, or that YAML readers split into different
lines, ends the reading of its file: nothing said about such text would be sure to mean the text
on the screen.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable
from functools import cached_property
from itertools import islice

from msgspec import Struct

from compiler.diagnostics import Finding, Place
from compiler.rules import finding

LIMIT = 256 * 1024
"""Bytes that one declaration or policy file may have; a real one has a few hundred."""

MOST = 20
"""Findings of one kind about one file; the last one counts the rest."""

# The faults of text whose lines can be shown: what cannot be seen is printed as an escape.
_SHOWN = frozenset({"control-character", "invisible-character"})
_BOM = b"\xef\xbb\xbf"
_ASCII_TEXT = bytes([0x09, 0x0A, 0x0D, *range(0x20, 0x7F)])
_LINE_END = re.compile(r"\r\n|\r|\n")

# YAML 1.2.2, section 5.1, lets DEL and the C1 controls through (C1 only as escapes in 1.1), but
# kustomize refuses DEL. NEL, LS and PS are line ends in YAML 1.1 and ordinary text in YAML 1.2.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]+")
_LINE_END_TO_SOME = "\x85\u2028\u2029"

# Bidi controls, zero-width characters, fillers and tag characters. A (non-)joiner between two
# characters that are not ASCII belongs to them: emoji, Persian, Indic scripts.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\U000e0000-\U000e007f]+"
    "|[\u200c\u200d](?![^\x00-\x7f])|(?<![^\x00-\x7f])[\u200c\u200d]"
)
_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


class Source(Struct, frozen=True, dict=True):
    """A file's text without its byte order mark, and the SHA-256 of its bytes in hex.

    Line ends stay as they are in the file: LF, CR LF or a lone CR.
    """

    path: str
    text: str
    digest: str

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends; split only when somebody asks."""
        return split(self.text)

    def line_at(self, number: int) -> str:
        """The line with this number, counted from 1, or '' where the file has no such line."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""


def decode(path: str, data: bytes, limit: int = LIMIT) -> tuple[Source | None, list[Finding]]:
    """The source of a file's bytes, or None and the findings that say why there is none."""
    if len(data) > limit:
        return None, [_too_large(path, limit)]
    content = data[3:] if data.startswith(_BOM) else data
    if content[:2] in (b"\xff\xfe", b"\xfe\xff") or _mostly_zero(content):
        return None, [_wide(path)]
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        return None, [_not_utf8(path, content, error)]
    if text.isascii():
        clean = not content.translate(None, _ASCII_TEXT)
        faults = [] if clean else _faults(path, text, _CONTROL, _control)
    else:
        faults = _faults(path, text, _CONTROL, _control)
        faults += _faults(path, text, _INVISIBLE, _invisible)
    if faults:
        return None, faults
    return Source(path, text, hashlib.sha256(data).hexdigest()), []


def legible(path: str, data: bytes) -> Source | None:
    """The source of a file to show lines of; also of text that nobody reads any further.

    None where the bytes are no text, or too many.
    """
    source, found = decode(path, data)
    if source is not None or any(item.rule not in _SHOWN for item in found):
        return source
    content = data[3:] if data.startswith(_BOM) else data
    return Source(path, content.decode(), hashlib.sha256(data).hexdigest())


def split(text: str) -> list[str]:
    """The lines of a text, without their ends; the last one is '' after a final line end."""
    return _LINE_END.split(text)


def name_of(character: str) -> str:
    """`U+202E RIGHT-TO-LEFT OVERRIDE`, or the number alone for characters without a name."""
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip()


def escape_of(character: str) -> str:
    """The character as an escape of a double-quoted YAML text, such as `\\u202e`."""
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def quote(text: str, width: int = 40) -> str:
    """Text of a file in backquotes for a message: one line, visible, at most `width` long."""
    shown = text if len(text) <= width else text[: width - 1] + "…"
    return f"`{''.join(c if c.isprintable() else escape_of(c) for c in shown)}`"


def _place(path: str, text: str, start: int, end: int) -> Place:
    line, column = _position(text, start)
    end_line, end_column = _position(text, end)
    return Place(path, line, column, end_line, end_column)


def _position(text: str, offset: int) -> tuple[int, int]:
    ends = text.count("\n", 0, offset) + text.count("\r", 0, offset)
    line = ends - text.count("\r\n", 0, offset) + 1
    before = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset))
    return line, offset - before


def _faults(
    path: str,
    text: str,
    pattern: re.Pattern[str],
    describe: Callable[[str, str], tuple[str, str, str]],
) -> list[Finding]:
    """One finding for each run of faulty characters; the last of many counts the rest."""
    matches = pattern.finditer(text)
    shown = list(islice(matches, MOST))
    rest = sum(1 for _ in matches)
    findings: list[Finding] = []
    for match in shown:
        run = match.group()
        more = f", with {len(run) - 1} more right after it" if len(run) > 1 else ""
        rule, message, remedy = describe(run[0], more)
        if rest and match is shown[-1]:
            message += f" ({rest} more such places in this file are not listed)"
        findings.append(finding(rule, _place(path, text, *match.span()), message, remedy))
    return findings


def _control(character: str, more: str) -> tuple[str, str, str]:
    if character in _LINE_END_TO_SOME:
        message = f"{name_of(character)}{more} ends a line for some YAML readers and not for others"
    else:
        message = f"the control character {name_of(character)}{more} is not allowed in a YAML file"
    remedy = f'delete it, or write "{escape_of(character)}" inside double quotes where it is meant'
    return "control-character", message, remedy


def _invisible(character: str, more: str) -> tuple[str, str, str]:
    if character in _BIDI:
        why = "makes the text look different from what it says"
    else:
        why = "cannot be seen"
    message = f"{name_of(character)}{more} {why}"
    remedy = f'delete it, or write "{escape_of(character)}" inside double quotes where it is meant'
    return "invisible-character", message, remedy


def _too_large(path: str, limit: int) -> Finding:
    message = f"the file has more than {limit:,} bytes, the most that is read of one file"
    remedy = (
        "keep long scripts in a file of their own and name it under `files:`, or use fewer keys"
    )
    return finding("file-too-large", Place.start(path), message, remedy)


def _mostly_zero(content: bytes) -> bool:
    """Whether this is Latin text in UTF-16 or UTF-32 without a byte order mark."""
    return content.count(0) * 3 >= len(content) > 1


def _wide(path: str) -> Finding:
    message = "the file is written in UTF-16 or UTF-32, and only UTF-8 is read"
    return finding("not-utf8", Place(path, 1, 1, 1, 2), message, "save the file as UTF-8")


def _not_utf8(path: str, content: bytes, error: UnicodeDecodeError) -> Finding:
    before = content[: error.start].decode()
    line, column = _position(before, len(before))
    byte = content[error.start]
    message = f"byte 0x{byte:02X} at line {line}, column {column} is not UTF-8"
    guess = bytes([byte]).decode("cp1252", errors="ignore")
    if guess.isalpha():
        message += f" (in Windows-1252 it would be `{guess}`)"
    place = Place(path, line, column, line, column + 1)
    return finding("not-utf8", place, message, "save the file as UTF-8")
