"""What libyaml's marks and events leave out: block ends, tabs, and spaces that are none.

Nothing here runs for an ordinary file: only where there is a block scalar, a tab, or a character
that is not ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from yaml.cyaml import CParser  # pyright: ignore
from yaml.events import ScalarEvent

from compiler.diagnostics import Finding, Place
from compiler.nodes import Mapping, Node, Scalar, Sequence
from compiler.rules import finding
from compiler.source import Source, name_of, split

# An ideographic space is wide enough to be seen, except where indentation is expected.
_ODD_SPACE = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f]|^\u3000|\u3000$")
_ANY_ODD_SPACE = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_TAB_OR_COMMENT = re.compile(r"(?:(?<=[ \t])|^)#|\t")
_VISIBLE = re.compile(r"[^\r\n]")
_LINE_END = re.compile(r"[\r\n]")


def between(path: str, event: Any) -> Place:
    """The place of a libyaml event."""
    start, end = event.start_mark, event.end_mark
    return Place(path, start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def end_block(source: Source, node: Scalar) -> None:
    """Move the end of a block scalar from the line after it to the end of its last line of text.

    libyaml's mark stands where the next token may start, after all blank lines.
    """
    if node.end_column > 1 and node.end_line == node.line:
        return
    number = min(node.end_line, len(source.lines))
    if node.end_column == 1 and number == node.end_line:
        number -= 1
    while number > node.line and not source.line_at(number).strip():
        number -= 1
    node.end_line = number
    node.end_column = len(source.line_at(number)) + 1


def tabs(source: Source) -> list[Finding]:
    """One finding where tabs stand outside quotes, block text and comments.

    libyaml and Kubernetes' parser read such tabs as spaces; ruamel.yaml and PyYAML refuse them,
    and so do the editors built on these.
    """
    pieces: list[str] = []
    done = 0
    text = source.text
    parser = cast("Any", CParser(text))
    events: Iterator[Any] = iter(parser.get_event, None)
    for event in events:
        if event.__class__ is ScalarEvent and event.style:
            start, end = event.start_mark.index, event.end_mark.index
            if event.style in "|>" and (header := _LINE_END.search(text, start)):
                start = min(header.start(), end)
            pieces.append(text[done:start])
            pieces.append(_VISIBLE.sub("x", text[start:end]))
            done = end
    pieces.append(text[done:])
    places: list[tuple[int, int]] = []
    for number, line in enumerate(split("".join(pieces)), 1):
        match = _TAB_OR_COMMENT.search(line)
        if match and match.group() == "\t":
            places.append((number, match.start() + 1))
    if not places:
        return []
    number, column = places[0]
    message = "a tab stands between the parts of this line, which not every YAML reader takes"
    if len(places) > 1:
        message += f" ({len(places) - 1} more lines have one)"
    remedy = "write a space; put text that must keep its tab in quotes"
    place = Place(source.path, number, column, number, column + 1)
    return [finding("syntax-error", place, message, remedy)]


def odd_spaces(source: Source, root: Node) -> list[Finding]:
    """A finding for each bare text with a space that looks like a plain one and is another."""
    if not _ANY_ODD_SPACE.search(source.text):
        return []
    findings: list[Finding] = []
    seen: set[int] = set()
    pending: list[Any] = [root]
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Mapping):
            pending.extend(node.keys())
            pending.extend(node.values())
        elif isinstance(node, Sequence):
            pending.extend(node)
        elif node.plain and _ODD_SPACE.search(node):
            for number in range(node.line, node.end_line + 1):
                start = node.column if number == node.line else 1
                if found := odd_space_in(source, number, start):
                    findings.append(found)
                    break
    return findings


def odd_space_in(source: Source, number: int, start: int = 1) -> Finding | None:
    """The finding for the first such space in a line, from column `start` on."""
    match = _ANY_ODD_SPACE.search(source.line_at(number), start - 1)
    if match is None:
        return None
    column = match.start() + 1
    message = f"{name_of(match.group())} looks like a space, and YAML takes it for a letter"
    remedy = "write a plain space, or put text that must keep it in quotes"
    place = Place(source.path, number, column, number, column + 1)
    return finding("invisible-character", place, message, remedy)


# A key of each kind of file, by the beginning of its path.
_FIRST_KEYS = {
    "policy/clusters/": "`admission: kueue`",
    "policy/teams/": "`namespace: p-nlp`",
    "policy/rules.": "`keep_finished: 72h`",
    "policy/waivers/": "`rule: RES403`",
    "policy/stops/": "`reason: wrong data`",
    "images/lock.": "`images:`",
    "images/": "`entry: [torchrun, train.py]`",
    "base/": "`resources:`",
}


def first_key(path: str) -> str:
    """What to write in a file that holds no mapping."""
    first = next((k for start, k in _FIRST_KEYS.items() if path.startswith(start)), "`team: nlp`")
    return f"write keys such as {first} at the start of their lines"
