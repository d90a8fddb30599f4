"""A complaint of libyaml, with the lines around it."""

from __future__ import annotations

from msgspec import Struct

from compiler.diagnostics import Finding, Place
from compiler.rules import finding
from compiler.source import Source


class Trouble(Struct, frozen=True):
    """libyaml's complaint: where it stands, what it was reading (and since where)."""

    source: Source
    problem: str
    context: str
    line: int
    column: int
    since_line: int
    since_column: int
    ended: bool
    bracket: Place | None

    @property
    def text(self) -> str:
        """The line at fault."""
        return self.source.line_at(self.line)

    @property
    def character(self) -> str:
        return self.text[self.column - 1 : self.column]

    @property
    def before(self) -> str:
        """The line up to the fault, without spaces at its end."""
        return self.text[: self.column - 1].rstrip()

    @property
    def rest(self) -> str:
        return self.text[self.column - 1 :].rstrip()

    def above(self) -> int:
        """The number of the last line before this one that says something, or 0."""
        number = self.line - 1
        while number > 0 and says_nothing(self.source.line_at(number)):
            number -= 1
        return number

    def found(self, message: str, remedy: str, rule: str = "syntax-error") -> Finding:
        """A finding at the fault."""
        return self.at(self.line, self.column, max(len(self.rest), 1), message, remedy, rule)

    def since(self, message: str, remedy: str, rule: str = "syntax-error") -> Finding:
        """A finding where libyaml began to read what it could not finish."""
        return self.at(self.since_line, self.since_column, 1, message, remedy, rule)

    def at(
        self,
        line: int,
        column: int,
        width: int,
        message: str,
        remedy: str,
        rule: str = "syntax-error",
    ) -> Finding:
        place = Place(self.source.path, line, column, line, column + width)
        return finding(rule, place, message, remedy)


def says_nothing(line: str) -> bool:
    """Whether a line is blank or a comment."""
    return not line.strip() or line.lstrip().startswith("#")
