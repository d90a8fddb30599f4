"""Findings, printed in the form that the user asked for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TextIO

from compiler.causes import rooted
from compiler.check import Checked
from compiler.diagnostics import CompilerError, Finding, arrange
from compiler.report import CheckReport, Sources, render
from compiler.repository import Repository
from compiler.source import Source, legible
from compiler.terminal import colored


def print_checked(checked: Checked, options: argparse.Namespace, repository: Repository) -> int:
    """Print the outcome of a check on stdout; returns the exit status."""
    report = CheckReport(
        findings=_without_secrets(rooted(checked.findings), reader(repository)),
        files=checked.files,
        jobs=len(checked.jobs),
        source=reader(repository),
        root=repository.root,
        colored=colored(options.color, sys.stdout),
        verdict=checked.verdict,
    )
    sys.stdout.write(render(options.format, report))
    return report.status(options.strict)


def print_findings(
    findings: Iterable[Finding], options: argparse.Namespace, repository: Repository, jobs: int = 1
) -> None:
    """Print findings as text on stderr, beside a verb's own result on stdout."""
    arranged = _without_secrets(rooted(arrange(findings)), reader(repository))
    if not arranged:
        return
    report = CheckReport(
        findings=arranged,
        files=len({item.place.path for item in arranged}),
        jobs=jobs,
        source=reader(repository),
        root=repository.root,
        colored=colored(options.color, sys.stderr),
    )
    stream: TextIO = sys.stderr
    stream.write(render("text", report))


def _without_secrets(findings: list[Finding], source: Sources) -> list[Finding]:
    """The findings with asterisks for secrets of the file that they are about.

    Those about a declaration have them already: they are told in other ways, too.
    """
    if not findings:
        return []
    from compiler.security.hiding import secrets_in, without_secrets

    known: dict[str, list[str]] = {}
    made: list[Finding] = []
    for item in findings:
        path = item.place.path
        if path not in known:
            text = source(path) if not path.startswith("jobs/") else None
            known[path] = secrets_in(text) if text is not None else []
        made += without_secrets([item], known[path])
    return made


def plain_or_json(verb: str, form: str) -> None:
    """Raise CompilerError for a form of findings alone, where a verb prints something else."""
    if form not in ("text", "json"):
        raise CompilerError(f"{verb} has no form `{form}`", "write --format text or --format json")


def reader(repository: Repository) -> Sources:
    """A function that gives the source of a path, for snippets; each file is read once."""
    known: dict[str, Source | None] = {}

    def source(path: str) -> Source | None:
        if path not in known:
            file = repository.root / path
            known[path] = None
            # Whoever opens a pipe waits for its other end.
            with suppress(OSError):
                if file.is_file():
                    known[path] = legible(path, repository.read_bytes(file))
        return known[path]

    return source
