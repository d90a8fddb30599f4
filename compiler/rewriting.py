"""Changes to authored files: applied to the text, proved on the tree, comments kept."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable

from compiler.diagnostics import Edit, Finding
from compiler.nodes import Node, Scalar, walk
from compiler.source import Source, decode
from compiler.tree import read

_LINE_END = re.compile(r"\r\n|\r|\n")


def edited(source: Source, findings: Iterable[Finding]) -> tuple[str, list[Finding]]:
    """The text with the findings' edits applied, and the findings that were.

    Edits that overlap an earlier one are left out; a second pass takes them.
    """
    starts = _line_starts(source.text)
    chosen: list[tuple[int, int, str]] = []
    applied: list[Finding] = []
    taken = 0
    for item in sorted((f for f in findings if f.edits), key=lambda f: f.order):
        spans = sorted(_span(edit, starts) for edit in item.edits if edit.place.path == source.path)
        if len(spans) == len(item.edits) and spans and spans[0][0] >= taken:
            chosen += spans
            taken = spans[-1][1]
            applied.append(item)
    text = source.text
    for start, end, replacement in reversed(chosen):
        text = text[:start] + replacement + text[end:]
    return text, applied


def _span(edit: Edit, starts: list[int]) -> tuple[int, int, str]:
    place = edit.place
    assert place.line and place.column and place.end_line and place.end_column
    start = starts[place.line - 1] + place.column - 1
    end = starts[place.end_line - 1] + place.end_column - 1
    return start, end, edit.text


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


def formatted(source: Source) -> str | None:
    """The file in the house's layout, or None where that could change what it says.

    Two spaces a level, lists indented under their key, LF, one final newline; quotes, comments,
    blank lines and order stay as they are. The outcome is read again: unless every scalar has the
    same letters and kind of style as before, the file is left alone.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    before, findings = read(source)
    if before is None or findings:
        return None
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1_000_000
    yaml.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    try:
        yaml.dump(yaml.load(source.text.replace("\r\n", "\n").replace("\r", "\n")), out)
    except (YAMLError, ValueError, TypeError, AttributeError):
        return None
    text = "\n".join(line.rstrip() if _trims(line) else line for line in out.getvalue().split("\n"))
    text = text.rstrip("\n") + "\n"
    if source.text.startswith("---") and not text.startswith("---"):
        text = "---\n" + text
    again, problems = decode(source.path, text.encode())
    if again is None or problems:
        return None
    after, problems = read(again)
    if after is None or problems or _meaning(after) != _meaning(before):
        return None
    return text


def _trims(line: str) -> bool:
    """Whether trailing space may go: within a block of text it might be part of the text, which
    the comparison with the tree before would show."""
    return line.strip() == "" or line.lstrip().startswith("#")


def _meaning(root: Node) -> list[tuple[object, str, str]]:
    return [
        (route, type(node).__name__, f"{'plain' if node.plain else 'text'} {node}" if isinstance(node, Scalar) else str(len(node)))
        for route, node in walk(root)
    ]
