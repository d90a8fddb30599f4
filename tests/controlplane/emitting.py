"""The objects of a declaration as the compiler would write them, were a rule not in the way."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from declarations import ROOT, TODAY, repository

from compiler import project as judging
from compiler.project import Project
from compiler.repository import Repository
from compiler.rules import registered
from controlplane.api import Manifest

EXAMPLE = "jobs/example.yaml"


def beside() -> None:
    """Let the tests of single rules be imported: their tables are tried on the real server too."""
    for folder in (ROOT / "tests", ROOT / "tests" / "checks"):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))


beside()

from test_registry import put, sections  # noqa: E402


@contextmanager
def without_checks() -> Iterator[None]:
    """No rule about a run or its objects holds; what reads and types declarations still does."""
    with patch.object(judging, "checks_of", lambda stage: ()):
        yield


def of_declaration(root: Path, text: str, files: Mapping[str, str] | None = None) -> list[Manifest]:
    """The objects of a declaration in a copy of the example repository, no check being made."""
    repository(root, {EXAMPLE: text, **(files or {})})
    return _objects(root, root / EXAMPLE)


def of_page(root: Path, rule: str) -> list[Manifest]:
    """The objects of the example on a rule's page, no check being made."""
    repository(root, jobs=True)
    example = sections(registered()[rule].page)["Example"]
    before = {path: path.read_bytes() for path in root.glob("jobs/**/*.yaml")}
    put(root, example)
    changed = [
        path for path in root.glob("jobs/**/*.yaml") if before.get(path) != path.read_bytes()
    ]
    if len(changed) != 1:
        pytest.fail(f"the example of {rule} is not one declaration: {changed}")
    return _objects(root, changed[0])


def _objects(root: Path, path: Path) -> list[Manifest]:
    with without_checks():
        result = Project(Repository(root), at=TODAY).judge(path)
        if len(result.runs) != 1:
            pytest.fail(f"{path.name}: no run to show the fault with: {result.findings}")
        return [dict(each) for each in result.runs[0].objects]
