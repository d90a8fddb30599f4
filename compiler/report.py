"""What a check found, ready to be printed in any form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct

from compiler.diagnostics import Finding, Place, Severity
from compiler.quota.wording import lines_of
from compiler.source import Source

Sources = Callable[[str], Source | None]


class CheckReport(Struct, frozen=True, dict=True):
    """The findings in their printed order, and what they were found in.

    `source` gives the text of a file by its path, for snippets; None where it cannot be read.
    `verdict` are the limits that are passed, as docs/interfaces.md has them.
    """

    findings: Sequence[Finding]
    files: int
    jobs: int
    source: Sources
    root: Path
    colored: bool = False
    verdict: Sequence[Mapping[str, Any]] = ()

    def hidden(self, path: str) -> list[Place]:
        """The places of a file that hold secrets, and are shown to nobody."""
        if path not in self._hidden:
            # Only what is shown has to be read once more, and by what.
            from compiler.security.hiding import hidden

            source = self.source(path)
            self._hidden[path] = [] if source is None else [one.place for one in hidden(source)]
        return self._hidden[path]

    @cached_property
    def _hidden(self) -> dict[str, list[Place]]:
        return {}

    @cached_property
    def quota(self) -> list[str]:
        """The verdict in words, a line each."""
        return lines_of(self.verdict)

    def count(self, severity: Severity) -> int:
        """How many findings weigh this much."""
        return sum(1 for finding in self.findings if finding.severity is severity)

    @property
    def errors(self) -> int:
        return self.count(Severity.ERROR)

    @property
    def warnings(self) -> int:
        return self.count(Severity.WARNING)

    @property
    def notices(self) -> int:
        return self.count(Severity.NOTICE)

    def status(self, strict: bool = False) -> int:
        """The exit status: 1 with errors, under `strict` also with warnings, else 0."""
        return 1 if self.errors or (strict and self.warnings) else 0

    @cached_property
    def prefix(self) -> str:
        """What to put before a path, so that it counts from the root of the git work tree.

        GitHub reads paths that way. Empty where the repository is the work tree, or there is none.
        """
        root = self.root.resolve()
        for folder in (root, *root.parents):
            if (folder / ".git").exists():
                inner = root.relative_to(folder).as_posix()
                return "" if inner == "." else f"{inner}/"
        return ""


def render(form: str, report: CheckReport) -> str:
    """The report in the form of one of the reporters (`text`, `json`, ...), with a final newline.

    Raises ValueError for a form that no file under `compiler/reporters/` makes.
    """
    if not form.isidentifier():
        raise ValueError(form)
    try:
        reporter = import_module(f"compiler.reporters.{form}")
    except ModuleNotFoundError as error:
        raise ValueError(form) from error
    return reporter.render(report)


def folded(findings: Sequence[Finding]) -> Iterator[tuple[Finding, list[Finding]]]:
    """Each finding, with those of other jobs that have the same cause.

    What is wrong in a policy file, a base or an image is reported for every job that it reaches;
    one rule at one such place is one cause.
    """
    causes: dict[tuple[str, Place], list[Finding]] = {}
    for finding in findings:
        if _caused_elsewhere(finding):
            causes.setdefault((finding.rule, finding.place), []).append(finding)
    for finding in findings:
        same = causes.get((finding.rule, finding.place)) if _caused_elsewhere(finding) else None
        if same is None:
            yield finding, []
        elif same[0] is finding:
            yield finding, same[1:]


def _caused_elsewhere(finding: Finding) -> bool:
    return not finding.place.path.startswith("jobs/") and bool(finding.related)


def tally(report: CheckReport) -> str:
    """The counts in words: `2 errors and 1 warning in 41 files (16 jobs)`."""
    counts = [
        _counted(report.count(severity), severity.value)
        for severity in Severity
        if report.count(severity)
    ]
    found = " and ".join([", ".join(counts[:-1]), counts[-1]] if counts[1:] else counts)
    where = f"{_counted(report.files, 'file')} ({_counted(report.jobs, 'job')})"
    return f"{found or 'no findings'} in {where}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
