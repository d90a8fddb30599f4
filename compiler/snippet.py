"""Lines of a file with marks under them: the drawing part of a printed finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from compiler.diagnostics import Place
from compiler.source import Source
from compiler.terminal import visible, width

# Columns of source text that are shown of one line; the window follows the mark.
WIDEST = 96
TAB = 4
_CUT = "…"
_HIDDEN = "*"


class Mark(Struct, frozen=True):
    """A span to be marked: with ^ where it is the mistake itself, with - and a note elsewhere."""

    place: Place
    note: str
    primary: bool


class Drawn(Struct, frozen=True):
    """A printed line: source text with its number, marks under it, or a gap between lines."""

    text: str
    number: int | None = None
    drawing: bool = False
    primary: bool = False
    gap: bool = False


def drawn(source: Source, marks: Sequence[Mark], hidden: Sequence[Place] = ()) -> Iterator[Drawn]:
    """The marked lines in the order of the file, each followed by its marks.

    Of a span over several lines the first one is shown and marked to its end. What is at a hidden
    place is shown as asterisks, whatever the line is shown for.
    """
    lines = sorted({mark.place.line for mark in marks if mark.place.line})
    before: int | None = None
    for number in lines:
        if before is not None and number > before + 1:
            yield Drawn("", gap=True)
        before = number
        here = [mark for mark in marks if mark.place.line == number]
        here.sort(key=lambda mark: (not mark.primary, mark.place.column or 1))
        text = _masked(source.line_at(number), number, hidden)
        cells = _cells(text)
        start, end = _extent(here[0].place, len(text))
        left, right = _window(cells, start, end)
        yield Drawn(_cut(cells, left, right), number)
        for mark in here:
            start, end = _extent(mark.place, len(text))
            indent = _columns(cells, left, start) + (1 if left else 0)
            length = max(1, _columns(cells, max(start, left), min(end, right)))
            sign = ("^" if mark.primary else "-") * length
            note = f" {mark.note}" if mark.note else ""
            yield Drawn(" " * indent + sign + note, drawing=True, primary=mark.primary)


def _masked(text: str, number: int, hidden: Sequence[Place]) -> str:
    """A line with asterisks for all letters at the hidden places that it is part of."""
    for place in hidden:
        first = place.line or 1
        last = place.end_line or first
        if not first <= number <= last:
            continue
        start = (place.column or 1) - 1 if number == first else 0
        end = (place.end_column or 1) - 1 if number == last else len(text)
        if number == first < last and text[start : start + 1] in ("|", ">"):
            # The head of a block tells nothing.
            continue
        inner = "".join(" " if letter.isspace() else _HIDDEN for letter in text[start:end])
        text = text[:start] + inner + text[end:]
    return text


def _cells(text: str) -> list[str]:
    """What is printed for each character of a line: tabs as blanks, the rest made visible."""
    cells: list[str] = []
    column = 0
    for character in text:
        cell = " " * (TAB - column % TAB) if character == "\t" else visible(character)
        cells.append(cell)
        column += width(cell)
    return cells


def _extent(place: Place, length: int) -> tuple[int, int]:
    """The marked characters of the span's first line, from 0, the end exclusive."""
    start = min(max((place.column or 1) - 1, 0), length)
    if place.end_line is None or place.end_column is None:
        return start, start + 1
    end = place.end_column - 1 if place.end_line == place.line else length
    return start, max(start, min(end, length))


def _columns(cells: Sequence[str], start: int, end: int) -> int:
    return sum(width(cell) for cell in cells[start:end])


def _window(cells: Sequence[str], start: int, end: int) -> tuple[int, int]:
    """Which characters of a line to show, so that the mark is seen with what is around it."""
    if _columns(cells, 0, len(cells)) <= WIDEST:
        return 0, len(cells)
    left = right = min(start, len(cells))
    budget = WIDEST
    # A third of the room goes before the mark, unless the line ends soon after it.
    while right < len(cells) and budget > WIDEST // 3:
        budget -= width(cells[right])
        right += 1
    while left > 0 and budget > 0:
        left -= 1
        budget -= width(cells[left])
    while right < len(cells) and budget > 0:
        budget -= width(cells[right])
        right += 1
    return left, right


def _cut(cells: Sequence[str], left: int, right: int) -> str:
    before = _CUT if left else ""
    after = _CUT if right < len(cells) else ""
    return before + "".join(cells[left:right]).rstrip() + after
