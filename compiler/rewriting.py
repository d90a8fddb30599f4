"""Edits that findings carry, applied to the text of their file."""

from __future__ import annotations

import re
from collections.abc import Iterable

from compiler.diagnostics import Edit, Finding
from compiler.source import Source

_LINE_END = re.compile(r"\r\n|\r|\n")


def edited(source: Source, findings: Iterable[Finding]) -> tuple[str, list[Finding]]:
    """The text with the findings' edits applied, and the findings that were.

    Edits that overlap an earlier one are left out; a second pass takes them.
    """
    starts = line_starts(source.text)
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
    assert place.line
    assert place.column
    assert place.end_line
    assert place.end_column
    start = starts[place.line - 1] + place.column - 1
    end = starts[place.end_line - 1] + place.end_column - 1
    return start, end, edit.text


def line_starts(text: str) -> list[int]:
    """Where each line of a text begins, the end of a final newline included."""
    return [0, *(match.end() for match in _LINE_END.finditer(text))]
