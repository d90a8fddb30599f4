"""The verdict of a check: which limits are passed, who holds them, and what would fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from compiler.diagnostics import Finding, arrange
from compiler.memory import Checked, restored, stored
from compiler.quota.remembered import (
    Kept,
    asked_about,
    head_of,
    keep,
    key_of,
    pages,
    recall,
    stamps,
)
from compiler.repository import Repository

if TYPE_CHECKING:
    from compiler.project import Project


def with_verdict(
    checked: Checked,
    repository: Repository,
    project: Callable[[], Project],
    paths: Sequence[Path] | None = None,
) -> Checked:
    """The outcome of a check of everything, with its verdict and what that finds.

    `project` is asked for only where something has changed since the last verdict. Jobs under
    `paths` are told of first, where more wait than can be told of.
    """
    ledgers = stamps(repository)
    wanted = asked_about(repository, paths or ())
    key = key_of(checked, ledgers, wanted)
    kept = recall(repository, key)
    if kept is None:
        from compiler.quota.judging import judged

        known = pages(repository)
        findings, rows = judged(project(), checked, ledgers, known, wanted)
        kept = Kept(
            key, head_of(repository) if rows else "", [stored(item) for item in findings], rows
        )
        keep(repository, kept, {path: page for path, page in known.items() if path in ledgers})
    return _joined(checked, [restored(row) for row in kept.findings], kept.verdict)


def _joined(checked: Checked, findings: list[Finding], rows: list[dict[str, Any]]) -> Checked:
    if not findings and not rows:
        return checked
    return replace(checked, findings=arrange([*checked.findings, *findings]), verdict=rows)
