"""For people: each finding with the line it is about, in the manner of rustc."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from compiler.diagnostics import Finding, Place, Related, Severity
from compiler.report import CheckReport, Sources, folded, tally
from compiler.snippet import Mark, drawn
from compiler.terminal import visible

NAME = "text"
# How many of the jobs of a folded finding are named.
NAMED = 5
# What is at the places of these rules is never printed, not even for another finding; nor is what
# is a secret by itself, whether or not a rule says so.
HIDING = frozenset(
    {"bad-secret-reference", "secret-in-variable", "secret-in-text", "secret-in-file"}
)

_BOLD, _BLUE, _RESET = "\x1b[1m", "\x1b[1;34m", "\x1b[0m"
_COLORS = {
    Severity.ERROR: "\x1b[1;31m",
    Severity.WARNING: "\x1b[1;33m",
    Severity.NOTICE: "\x1b[1;36m",
}


def render(report: CheckReport) -> str:
    """The findings in their order, the limits that are passed, the tally, and how to read more."""
    paint = _Paint(report.colored)
    named: dict[str, list[Place]] = {}
    for finding in report.findings:
        if finding.rule in HIDING:
            named.setdefault(finding.place.path, []).append(finding.place)

    def hidden(path: str) -> list[Place]:
        return [*report.hidden(path), *named.get(path, ())]

    blocks = [
        "\n".join(_block(first, others, report.source, paint, hidden))
        for first, others in folded(report.findings)
    ]
    if report.quota:
        lines = (f"  {visible(line)}" for line in report.quota)
        blocks.append("\n".join([paint(_BOLD, "quota"), *lines]))
    codes = list(dict.fromkeys(finding.code for finding in report.findings))
    closing = paint(_BOLD, tally(report))
    if codes:
        closing += f"\n`python -m compiler explain {codes[0]}` tells more about a rule"
    return "\n\n".join([*blocks, closing]) + "\n"


def _block(
    finding: Finding,
    others: list[Finding],
    source: Sources,
    paint: _Paint,
    hidden: Callable[[str], list[Place]],
) -> Iterator[str]:
    color = _COLORS[finding.severity]
    head = paint(color, f"{finding.severity.value}[{finding.code}] {finding.rule}")
    yield head + paint(_BOLD, f": {visible(finding.message)}")
    places = [finding.place, *(related.place for related in finding.related)]
    gutter = max(len(str(place.line)) if place.line else 0 for place in places)
    pad = " " * gutter
    for path, marks in _by_file(finding):
        first = marks[0]
        text = source(path)
        arrow = "-->" if first.primary else ":::"
        if text is None or _whole(first.place):
            # The notes that would stand beside the lines follow the places instead.
            for mark in marks:
                note = f": {mark.note}" if mark.note else ""
                yield f"{pad}{paint(_BLUE, arrow)} {_shown(mark.place)}{note}"
            continue
        yield f"{pad}{paint(_BLUE, arrow)} {_shown(first.place)}"
        yield f"{pad} {paint(_BLUE, '|')}"
        for line in drawn(text, marks, hidden(path)):
            number = str(line.number or "").rjust(gutter)
            body = paint(color if line.primary else _BLUE, line.text) if line.drawing else line.text
            bar = "..." if line.gap else f"{number} |"
            yield (paint(_BLUE, bar) + (f" {body}" if body else "")).rstrip()
        yield f"{pad} {paint(_BLUE, '|')}"
    if others:
        yield f"{pad} {paint(_BLUE, '=')} {paint(_BOLD, 'note')}: {_also(others)}"
    if finding.help:
        yield f"{pad} {paint(_BLUE, '=')} {paint(_BOLD, 'help')}: {visible(finding.help)}"


def _by_file(finding: Finding) -> list[tuple[str, list[Mark]]]:
    """The finding's marks by file: its own file first, each in the order of the lines."""
    files: dict[str, list[Mark]] = {
        finding.place.path: [Mark(finding.place, "", primary=True)],
    }
    for related in finding.related:
        note = visible(related.message)
        files.setdefault(related.place.path, []).append(Mark(related.place, note, primary=False))
    return list(files.items())


def _shown(place: Place) -> str:
    path = visible(place.path)
    return path if place.line is None else f"{path}:{place.line}:{place.column or 1}"


def _whole(place: Place) -> bool:
    """Whether the file itself is meant: no line of it says what is wrong."""
    start = (place.line, place.column)
    return place.line is None or (start == (1, 1) and (place.end_line, place.end_column) == (1, 1))


def _also(others: list[Finding]) -> str:
    jobs = [_job(finding.related) for finding in others]
    named = ", ".join(visible(job) for job in jobs[:NAMED])
    rest = f" and {len(jobs) - NAMED} more" if len(jobs) > NAMED else ""
    return f"the same in {named}{rest}"


def _job(related: tuple[Related, ...]) -> str:
    return next((r.place.path for r in related if r.place.path.startswith("jobs/")), "another job")


class _Paint:
    """Wraps text into a colour, or leaves it alone."""

    def __init__(self, colored: bool) -> None:
        self.colored = colored

    def __call__(self, color: str, text: str) -> str:
        return f"{color}{text}{_RESET}" if self.colored and text else text
