"""`build -o DIR [JOB...]`: the tree that publish would write, in a folder of its own."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.repository import Repository

NAME = "build"
HELP = "write the overlays of all jobs, or of some, into a folder"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The folder, and the jobs."""
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR", help="the folder to write; not overlays/"
    )
    parser.add_argument("jobs", nargs="*", metavar="JOB", help="NAME, TEAM/NAME or a file")


def run(options: argparse.Namespace, repository: Repository) -> int:
    """Write the tree; 1 where a job was left out for its errors, else 0."""
    import sys
    from pathlib import Path

    from compiler.build import build
    from compiler.diagnostics import Severity
    from compiler.printing import print_findings
    from compiler.project import Project
    from compiler.selection import select

    project = Project(repository, at=options.at, cluster=options.cluster)
    paths = [select(repository, word) for word in options.jobs] or None
    bar = _Bar() if sys.stderr.isatty() else None
    try:
        built = build(project, Path(options.output), paths, bar or (lambda what, done, of: None))
    finally:
        if bar is not None:
            bar.clear()
    findings = built.checked.findings
    print_findings(findings, options, repository, len(built.checked.jobs))
    said = f"{options.output}: {_count(built.runs, 'run')}"
    if built.kustomize is not None:
        known = built.runs - built.proved
        said += f"; {built.proved} built with {built.kustomize.name}, {known} known from before"
    if built.gone:
        said += f"; {_count(built.gone, 'run')} of an earlier build taken away"
    if built.blocked:
        said += f"; {_count(len(built.blocked), 'job')} left out because of errors"
    sys.stderr.write(said + "\n")
    weights = {finding.severity for finding in findings}
    failed = Severity.ERROR in weights or (options.strict and Severity.WARNING in weights)
    return 1 if failed else 0


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class _Bar:
    """One line on the terminal that says how far the work is."""

    def __init__(self) -> None:
        self.width = 0

    def __call__(self, what: str, done: int, of: int) -> None:
        """Say it anew, at most once for each hundredth of the work."""
        if of > 100 and done % (of // 100) and done != of:
            return
        self.show(f"{what} {done} of {of}")

    def clear(self) -> None:
        self.show("")

    def show(self, text: str) -> None:
        import sys

        sys.stderr.write("\r" + text.ljust(self.width) + ("" if text else "\r"))
        sys.stderr.flush()
        self.width = len(text)
