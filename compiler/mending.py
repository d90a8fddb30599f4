"""The fixes of one file: applied only as far as a second reading proves them."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from compiler.declaration import Declaration
from compiler.diagnostics import Finding, Severity
from compiler.nodes import Mapping, Node, Scalar, walk
from compiler.project import Project
from compiler.repository import Repository
from compiler.rewriting import edited
from compiler.source import Source, decode
from compiler.tree import read
from compiler.validation import validate

PASSES = 5


class Mended(Struct, frozen=True):
    """The new content, the findings that it answers, and how many errors are left."""

    content: bytes
    applied: list[Finding]
    left: int


class _State(Struct, frozen=True):
    """A content of the file: its text and tree, all findings about it, and those of its shape."""

    source: Source | None
    root: Node | None
    findings: list[Finding]
    shape: Counter[tuple[str, str]]


def mend(project: Project, path: Path) -> Mended:
    """The file with every fix that leaves all other values as they were.

    A fix is taken only if, read again, its finding is gone, the file has no new mistake of form,
    and every scalar elsewhere has the letters that it had. What comes to light only now, such as
    a number that is possible and above a cap, is for a person to mend.
    """
    content = project.repository.read_bytes(path)
    mark = BOM_UTF8 if content.startswith(BOM_UTF8) else b""
    state = _state(project, path, content)
    applied: list[Finding] = []
    for _ in range(PASSES):
        for chosen in _choices([item for item in state.findings if item.edits]):
            if state.source is None:
                break
            text, taken = edited(state.source, chosen)
            after = _state(project, path, mark + text.encode())
            if taken and _proved(state, after, taken):
                applied += taken
                state, content = after, mark + text.encode()
                break
        else:
            break
    errors = [item for item in state.findings if item.severity is Severity.ERROR]
    return Mended(content, applied, len(errors))


def _choices(findings: list[Finding]) -> Iterator[list[Finding]]:
    """All at once, then, as one that is not proved may stand in the way, each alone."""
    yield findings
    if len(findings) > 1:
        yield from ([item] for item in findings)


def _state(project: Project, path: Path, data: bytes) -> _State:
    """The file as if its content were `data`."""
    shown = project.repository.relative(path)
    source, _ = decode(shown, data)
    root: Node | None = read(source)[0] if source is not None else None
    if path.is_relative_to(project.repository.root / "jobs"):
        found = project.judge(path, data).findings
        shape = validate(Declaration, root, "a job")[1] if isinstance(root, Mapping) else []
    else:
        repository = Repository(project.repository.root)
        repository.surroundings = {**project.repository.surroundings, shown: data}
        found = shape = repository.policy().findings
    here = [item for item in found if item.place.path == shown]
    return _State(source, root, here, Counter((item.rule, item.message) for item in shape))


def _proved(before: _State, after: _State, taken: list[Finding]) -> bool:
    if before.root is None or after.root is None or after.shape - before.shape:
        return False
    answered = Counter((item.rule, item.message) for item in taken)
    were = Counter((item.rule, item.message) for item in before.findings)
    are = Counter((item.rule, item.message) for item in after.findings)
    if any(are[key] > were[key] - count for key, count in answered.items()):
        return False
    places = {edit.place.order for item in taken for edit in item.edits}
    mended = [route for route, node in walk(before.root) if node.place.order in places]
    if len(mended) != len(places):
        # A value that aliases repeat is more than one: the others were not wrong.
        return False
    return _others(before.root, mended) == _others(after.root, mended)


def _others(root: Node, mended: list[tuple[str | int, ...]]) -> dict[object, str]:
    """The scalars that no fix is about, with their letters."""
    skip = set(mended)
    return {
        route: str(node) if isinstance(node, Scalar) else type(node).__name__
        for route, node in walk(root)
        if not any(route[:length] in skip for length in range(len(route) + 1))
    }
