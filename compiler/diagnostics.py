"""What is wrong, where it stands, and what to write instead.

Every stage reports through `Finding`; nothing else is printed about a file. A finding names one
place in an authored file, says why in `message` (with the value), and what to write in `help`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from compiler.refusals import CompilerError, Unavailable

__all__ = [
    "CompilerError",
    "Edit",
    "Finding",
    "Place",
    "Related",
    "Severity",
    "Unavailable",
    "arrange",
]


class Severity(StrEnum):
    """How much a finding weighs: errors fail a check, warnings do only under `--strict`."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"

    @property
    def rank(self) -> int:
        """0 for the worst; reporters print in this order."""
        return ("error", "warning", "notice").index(self.value)


class Place(Struct, frozen=True):
    """A stretch of an authored file.

    `path` is relative to the repository, with `/`. Lines and columns count from 1, columns in
    code points, ends are exclusive. `line` is None only where no file is at fault.
    """

    path: str
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None

    @classmethod
    def start(cls, path: str) -> Place:
        """The start of a file, for what is wrong with the file as a whole (its name, its kind)."""
        return cls(path, 1, 1, 1, 1)

    @property
    def order(self) -> tuple[str, int, int]:
        return (self.path, self.line or 0, self.column or 0)


class Related(Struct, frozen=True):
    """A second place that explains the finding, with its own short note."""

    place: Place
    message: str


class Edit(Struct, frozen=True):
    """Replace the text at `place` (a span within one file) by `text`."""

    place: Place
    text: str


class Finding(Struct, frozen=True):
    """One mistake, once.

    `rule` is the kebab-case name of the rule's file under `compiler/checks/`, which also holds
    its code and its page. `edits` is a fix that provably keeps the job the same, else empty.
    """

    rule: str
    code: str
    severity: Severity
    message: str
    place: Place
    help: str = ""
    related: tuple[Related, ...] = ()
    edits: tuple[Edit, ...] = ()

    @property
    def order(self) -> tuple[bool, str, int, int, int, str, str]:
        """The order of every printed list: by file and position, then by weight.

        What jobs stand on comes before them: policy that is mended first may mend them.
        """
        path, line, column = self.place.order
        above = not path.startswith("jobs/")
        return (not above, path, line, column, self.severity.rank, self.code, self.message)

    def with_severity(self, severity: Severity) -> Finding:
        return replace(self, severity=severity)


def arrange(findings: Iterable[Finding]) -> list[Finding]:
    """The findings without repeats, in the order in which they are printed.

    Those that differ in what they show beside the place alone, such as the same mistake of an image
    in several jobs, are in the order of that: a set has none.
    """
    shown = {
        finding: [(each.place.order, each.message) for each in finding.related]
        for finding in findings
    }
    return sorted(shown, key=lambda finding: (finding.order, shown[finding]))
