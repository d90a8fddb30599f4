"""Mounted files that git does not track: publish, which reads commits, would not find them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Place
from compiler.nodes import Mapping, Scalar
from compiler.runs.verification import untracked

if TYPE_CHECKING:
    from compiler.memory import Judged
    from compiler.project import Project
    from compiler.repository import Repository


def untracked_mounts(
    repository: Repository, jobs: Sequence[Judged], project: Callable[[], Project]
) -> list[Finding]:
    """The findings about mounted files that are there, and in no commit to come.

    `project` is asked for only where there are any.
    """
    there = {name for job in jobs for name, state in job.depends.items() if _is_there(state)}
    lost = untracked(repository, there)
    if not lost:
        return []
    made: list[Finding] = []
    for job in jobs:
        names = lost.intersection(job.depends)
        if names:
            node = project().judge(repository.root / job.path).node
            said = {item.place for item in job.findings if item.rule == "untracked-file"}
            made += (item for item in _told(node, job.path, names) if item.place not in said)
    return made


def _is_there(state: str) -> bool:
    return bool(state) and not state.startswith("none")


def _told(node: Mapping | None, path: str, names: set[str]) -> Iterator[Finding]:
    from compiler.rules import finding

    places = {str(scalar): scalar.place for scalar in _mounted(node)}
    for name in sorted(names):
        # An image's own files, which a declaration does not name, are its folder's affair.
        if name in places or not name.startswith("images/"):
            yield finding(
                "untracked-file",
                places.get(name, Place.start(path)),
                f"git does not track `{name}`: publish reads commits, and would not find it",
                f"git add {name}, if it holds no secret (-f where it is ignored), or mount "
                "another file",
            )


def _mounted(node: Mapping | None) -> Iterator[Scalar]:
    first = node.get("master") if node is not None else None
    for part in (node, first):
        files = part.get("files") if isinstance(part, Mapping) else None
        values = files.values() if isinstance(files, Mapping) else ()
        yield from (value for value in values if isinstance(value, Scalar))
