"""An account as one comment of a pull request.

Whatever a pull request says of itself is data here: it stands in code spans and fences that it
cannot close, names nobody, and makes no link and no HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from compiler.quota.wording import lines_of
from compiler.runs.account import Line
from compiler.runs.reporting import (
    Report,
    details,
    effect_lines,
    grandfathered_lines,
    heading,
    holding,
    observed_lines,
    quota_lines,
    sections,
    summary,
)
from compiler.terminal import visible

# GitHub refuses a longer comment; it counts characters.
LIMIT = 65_536
# By this line the next comment finds the one that it replaces.
MARKER = "<!-- runwright-plan -->"
_FOLDED = 8
# The share of a comment that the rendered difference may take.
_DIFF = 30_000
_LONGEST = 600


def as_markdown(report: Report, limit: int = LIMIT) -> str:
    """The account as Markdown of at most `limit` characters; what does not fit is counted."""
    head = [
        MARKER,
        f"### {report.title.capitalize()}",
        "",
        code(heading(report)),
        "",
        *_top(report),
        "",
    ]
    tail = list(_tail(report))
    entries = list(_entries(report))
    diff = _diff(report.diff)
    room = limit - _size([*head, *tail]) - 200
    if diff and _size(diff) > max(0, min(_DIFF, room)):
        diff = _diff(report.diff, max(0, min(_DIFF, room) - 200))
    room -= _size(diff)
    body: list[str] = []
    left = len([one for one in entries if one[0]])
    for counts, block in entries:
        if _size(block) > room:
            break
        room -= _size(block)
        body += block
        left -= 1 if counts else 0
    if left:
        body += ["", f"… and {left} more, which this comment has no room for: `plan` shows them."]
    text = "\n".join([*head, *body, *tail, *diff]) + "\n"
    if len(text) > limit:
        # Only a single overlong part gets here: the count still says how much is missing.
        cut = f"\n\n… cut: {len(text) - limit} characters more\n"
        text = text[: limit - len(cut)] + cut
    return text


def _size(lines: list[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _top(report: Report) -> Iterator[str]:
    found = list(sections(report.account))
    counts = ", ".join(f"{title} {len(lines)}" for title, lines in found)
    yield f"**{counts or 'No run starts or stops'}**"
    yield ""
    yield from (f"- {code(row)}" for row in summary(report))
    if report.account.guard is not None:
        yield ""
        yield f"> **Stop guard:** {code(report.account.guard.text)}"


def _entries(report: Report) -> Iterator[tuple[bool, list[str]]]:
    """The sections: a heading each (which counts for nothing), then a block for each line."""
    for title, lines in sections(report.account):
        yield False, ["", f"#### {title}", ""]
        for line in lines:
            yield True, list(_entry(line))


def _entry(line: Line) -> Iterator[str]:
    name = f"{line.team}/{line.name or line.job}"
    where = f" on {code(line.cluster)}" if line.cluster else ""
    held = f", {code(holding(line))}" if holding(line) else ""
    yield f"- {code(name)}{where}{held}"
    said = [code(phrase) for phrase in details(line)]
    if len(said) <= _FOLDED:
        yield from (f"  - {phrase}" for phrase in said)
        return
    yield from (f"  - {phrase}" for phrase in said[:_FOLDED])
    yield f"  <details><summary>{len(said) - _FOLDED} more</summary>"
    yield ""
    yield from (f"  - {phrase}" for phrase in said[_FOLDED:])
    yield ""
    yield "  </details>"


def _tail(report: Report) -> Iterator[str]:
    for title, rows in (
        ("Jobs that it does not touch, and fails or frees", effect_lines(report)),
        ("Runs that go on although nothing new would start", grandfathered_lines(report.account)),
        ("Quota: accelerators held, before → after", quota_lines(report.account.quota)),
        ("Verdict: who holds what these runs want", lines_of(report.verdict)),
        ("Last observations", observed_lines(report)),
        ("Notes", report.notes),
    ):
        if rows:
            yield from ("", f"<details><summary>{title}</summary>", "")
            yield from (f"- {code(row)}" for row in rows[:50])
            if len(rows) > 50:
                yield f"- and {len(rows) - 50} more"
            yield from ("", "</details>")


def _diff(text: str, room: int | None = None) -> list[str]:
    """The rendered difference in a fold and a fence, cut with a count of lines."""
    if not text:
        return []
    rows = [visible(row) for row in text.splitlines()]
    kept = rows
    if room is not None:
        size = 0
        kept = list[str]()
        for row in rows:
            size += len(row) + 1
            if size > room:
                break
            kept.append(row)
    fence = "`" * max(3, _longest_run("\n".join(kept)) + 1)
    made = ["", "<details><summary>Rendered difference</summary>", "", f"{fence}diff", *kept, fence]
    if len(kept) < len(rows):
        made += ["", f"… {len(rows) - len(kept)} of {len(rows)} lines are left out."]
    return [*made, "", "</details>"]


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def code(text: str) -> str:
    """A text as a code span that it cannot end: on one line, shown as it is."""
    shown = visible(text)
    if len(shown) > _LONGEST:
        shown = f"{shown[:_LONGEST]} … {len(shown) - _LONGEST} characters more"
    shown = shown.strip() or " "
    tick = "`" * (_longest_run(shown) + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{tick}{space}{shown}{space}{tick}"
