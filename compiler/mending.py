"""The fixes of one file: applied only as far as a second reading proves them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from compiler.diagnostics import Finding, Severity
from compiler.nodes import Node, Scalar, walk
from compiler.project import Project
from compiler.rewriting import edited
from compiler.source import Source, decode
from compiler.tree import read

PASSES = 5


@dataclass(frozen=True, slots=True)
class Mended:
    """The new text, the findings that it answers, and how many errors are left."""

    text: str
    applied: list[Finding]
    left: int


def mend(project: Project, path: Path) -> Mended:
    """The file with every fix that leaves all other values as they were.

    A fix is taken only if, read again, its finding is gone, no new one has come, and every scalar
    outside the edited places has the letters that it had.
    """
    shown = project.repository.relative(path)
    data = project.repository.read_bytes(path)
    source, _ = decode(shown, data)
    findings = findings_of(project, path, data)
    applied: list[Finding] = []
    for _ in range(PASSES):
        if source is None or not any(item.edits for item in findings):
            break
        text, taken = edited(source, findings)
        again, _ = decode(shown, text.encode())
        after = findings_of(project, path, text.encode())
        if again is None or not taken or not _proved(source, again, taken, findings, after):
            break
        applied += taken
        source, findings = again, after
    errors = [item for item in findings if item.severity is Severity.ERROR]
    return Mended(source.text if source is not None else "", applied, len(errors))


def findings_of(project: Project, path: Path, data: bytes) -> list[Finding]:
    """The findings at places of this file, were its content `data`."""
    shown = project.repository.relative(path)
    if path.is_relative_to(project.repository.root / "jobs"):
        found = project.judge(path, data).findings
    else:
        found = project.policy.findings if data == project.repository.read_bytes(path) else []
    return [item for item in found if item.place.path == shown]


def _proved(
    before: Source, after: Source, taken: list[Finding], were: list[Finding], are: list[Finding]
) -> bool:
    if {(f.rule, f.message) for f in are} - {(f.rule, f.message) for f in were}:
        return False
    if any((f.rule, f.message) in {(g.rule, g.message) for g in are} for f in taken):
        return False
    touched = {f.place.order for f in taken}
    return _letters(before, touched) == _letters(after, set(), skip=_routes(before, touched))


def _letters(
    source: Source, touched: set[tuple[str, int, int]], skip: set[object] | None = None
) -> dict[object, str]:
    root: Node | None = read(source)[0]
    if root is None:
        return {}
    return {
        route: str(node)
        for route, node in walk(root)
        if isinstance(node, Scalar) and node.place.order not in touched and not _under(route, skip)
    }


def _routes(source: Source, touched: set[tuple[str, int, int]]) -> set[object]:
    root: Node | None = read(source)[0]
    return {route for route, node in walk(root) if node.place.order in touched} if root is not None else set()


def _under(route: tuple[str | int, ...], skip: set[object] | None) -> bool:
    return bool(skip) and any(route[:length] in skip for length in range(len(route) + 1))  # type: ignore[operator]
