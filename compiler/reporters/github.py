"""For GitHub Actions: workflow commands that become annotations of a pull request.

GitHub shows ten annotations of each kind for a step and drops the others, so the tenth counts the
rest, and all of them follow as plain lines of the log. The columns of an annotation may only be
given where it is within one line (GitHub's REST API, check runs, `annotations`).
"""

from __future__ import annotations

from compiler.diagnostics import Finding, Place, Severity
from compiler.report import CheckReport, folded, tally
from compiler.terminal import visible

NAME = "github"
MOST = 10


def render(report: CheckReport) -> str:
    """Annotations, worst first and one for each cause, then the other findings, then the tally."""
    lines: list[str] = []
    rest: list[str] = []
    causes = list(folded(report.findings))
    for severity in Severity:
        found = [cause for cause in causes if cause[0].severity is severity]
        shown = found if len(found) <= MOST else found[: MOST - 1]
        lines += [_annotation(*cause, report.prefix) for cause in shown]
        rest += [_plain(finding) for _, others in shown for finding in others]
        if len(shown) < len(found):
            left = [item for first, others in found[len(shown) :] for item in (first, *others)]
            files = len({finding.place.path for finding in left})
            where = f"{files} file{'' if files == 1 else 's'}"
            lines.append(
                f"::{severity.value} title={len(left)} more::"
                + _data(f"{len(left)} more of this kind in {where}, see the log of this step")
            )
            rest += [_plain(finding) for finding in left]
    # A leading blank keeps any line from being read as a workflow command.
    return "".join(f"{line}\n" for line in [*lines, *rest, f" {tally(report)}"])


def _annotation(finding: Finding, others: list[Finding], prefix: str) -> str:
    title = f"{finding.code} {finding.rule}"
    properties = {"file": prefix + finding.place.path, **_span(finding.place), "title": title}
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    notes = [finding.message]
    if finding.help:
        notes.append(f"help: {finding.help}")
    notes += [
        f"see {related.place.path}:{related.place.line or 1}: {related.message}"
        for related in finding.related
    ]
    if others:
        notes.append(f"and the same {len(others)} times more, see the log of this step")
    return f"::{finding.severity.value} {written}::{_data(chr(10).join(notes))}"


def _span(place: Place) -> dict[str, str]:
    if place.line is None:
        return {}
    end_line = place.end_line or place.line
    span = {"line": str(place.line), "endLine": str(end_line)}
    if place.column is not None and end_line == place.line:
        # Our ends are exclusive, GitHub's columns are not.
        last = max(place.column, (place.end_column or place.column) - 1)
        span |= {"col": str(place.column), "endColumn": str(last)}
    return span


def _plain(finding: Finding) -> str:
    place = finding.place
    at = f"{place.path}:{place.line}:{place.column}" if place.line else place.path
    return visible(
        f" {at}: {finding.severity.value}[{finding.code}] {finding.rule}: {finding.message}"
    )


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
