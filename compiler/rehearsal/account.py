"""What came of a rehearsal: its parts in words, what would have failed, what is not covered."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field

from compiler.diagnostics import Place
from compiler.rehearsal.picture import sparkline
from compiler.rehearsal.watching import Point

Status = Literal["ok", "failed", "left out"]
Outcome = Literal["passed", "failed", "incomplete"]


class Part(Struct, frozen=True):
    """One part of a rehearsal. `seconds` are those that it took."""

    name: str
    status: Status
    text: str
    seconds: float = 0.0


class Problem(Struct, frozen=True):
    """What would have failed on the cluster, and where the declaration says it.

    `kind` is a word for programs. `here` tells that the reason may lie in this machine (no data, a
    package that the image may have), so that nothing is known of the cluster. `output` is what the
    node said last.
    """

    kind: str
    place: Place
    field: str
    message: str
    help: str = ""
    node: int | None = None
    output: str = ""
    here: bool = False


class Account(Struct):
    """The whole of it."""

    name: str
    cluster: str
    team: str
    job: str
    nodes: int
    processes: int
    parts: list[Part] = field(default_factory=list)  # type: ignore[assignment]
    problems: list[Problem] = field(default_factory=list)  # type: ignore[assignment]
    changed: list[str] = field(default_factory=list)  # type: ignore[assignment]
    uncovered: list[str] = field(default_factory=list)  # type: ignore[assignment]
    points: list[Point] = field(default_factory=list)  # type: ignore[assignment]
    seconds: float = 0.0

    @property
    def outcome(self) -> Outcome:
        """Whether it passed, failed, or could not be brought to its end here."""
        if any(not problem.here for problem in self.problems):
            return "failed"
        return "incomplete" if self.problems else "passed"

    def as_dict(self) -> dict[str, Any]:
        """The account as `--format json` prints it: schemas/rehearse.schema.json."""
        return {
            "version": 1,
            "run": self.name,
            "cluster": self.cluster,
            "team": self.team,
            "job": self.job,
            "outcome": self.outcome,
            "nodes": self.nodes,
            "processes": self.processes,
            "seconds": round(self.seconds, 1),
            "parts": [
                {
                    "name": part.name,
                    "status": part.status,
                    "text": part.text,
                    "seconds": round(part.seconds, 1),
                }
                for part in self.parts
            ],
            "problems": [
                {
                    "kind": item.kind,
                    "path": item.place.path,
                    "line": item.place.line,
                    "column": item.place.column,
                    "field": item.field,
                    "message": item.message,
                    "help": item.help,
                    "node": item.node,
                    "here": item.here,
                    "output": item.output,
                }
                for item in self.problems
            ],
            "changed": self.changed,
            "not_covered": self.uncovered,
            "loss": [
                {"step": point.step, "loss": point.loss, "start": point.start}
                for point in self.points
            ],
        }

    def text(self) -> str:
        """The account for a person."""
        size = f"{_times(self.nodes, 'node')} of {self.processes}"
        lines = [f"{self.name} on {self.cluster}: {_VERDICTS[self.outcome]} ({size})"]
        lines += [f"  {_MARKS[p.status]:<4} {p.name:<11} {p.text}" for p in self.parts]
        if self.points:
            first, last = self.points[0], self.points[-1]
            losses = [point.loss for point in self.points]
            lines.append(
                f"  loss {first.loss:.4g} -> {last.loss:.4g}, "
                f"steps {first.step} to {last.step}  {sparkline(losses)}"
            )
        for problem in self.problems:
            lines += ["", *_shown(problem)]
        if self.changed:
            lines += ["", "changed for the rehearsal:", *(f"  {text}" for text in self.changed)]
        if self.uncovered:
            lines += ["", "not covered:", *(f"  {text}" for text in self.uncovered)]
        lines += ["", f"took {self.seconds:.0f} s"]
        return "\n".join(lines) + "\n"


_MARKS: dict[Status, str] = {"ok": "ok", "failed": "FAIL", "left out": "-"}
_VERDICTS: dict[Outcome, str] = {
    "passed": "rehearsed, nothing would have failed",
    "failed": "would have failed",
    "incomplete": "could not be rehearsed to its end",
}


def _shown(problem: Problem) -> list[str]:
    place = problem.place
    where = f"{place.path}:{place.line}:{place.column}" if place.line else place.path
    kind = "cannot tell" if problem.here else "error"
    lines = [f"{where}: {kind}: {problem.message}"]
    if problem.help:
        lines.append(f"  help: {problem.help}")
    if problem.output:
        who = "" if problem.node is None else f"node {problem.node} | "
        lines += [f"  {who}{line}" for line in problem.output.splitlines()]
    return lines


def _times(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
