"""What declarations say of names and runs that only the ledger can confirm: `was`, and `from`.

`check` and publish ask the same, so that a declaration that the one accepts is not left lying by
the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from compiler.diagnostics import Finding, Place, Related
from compiler.memory import Judged
from compiler.nodes import Mapping as Tree
from compiler.nodes import Node
from compiler.project import Project
from compiler.results import resumed_from
from compiler.rules import finding
from compiler.runs.declared import Key
from compiler.runs.entries import Ledger
from compiler.runs.joined import Clash, clash, groups
from compiler.suggestions import any_of

_RUN = re.compile(r"r[1-9][0-9]{0,5}")


class Book(Struct, frozen=True):
    """What is asked of a ledger: the further names of its job, and the runs that have started.

    These are None where the ledger cannot be read.
    """

    also: tuple[str, ...]
    launched: frozenset[int] | None


def book_of(ledger: Ledger) -> Book:
    """What is asked of a ledger."""
    return Book(ledger.also, frozenset(run.number for run in ledger.runs if run.launched))


def doubted(project: Project, jobs: Sequence[Judged], books: Mapping[Key, Book]) -> list[Finding]:
    """The findings about what the ledgers do not confirm; their weights are the rules' own."""
    return [*_clashes(project, jobs, books), *_unknown_runs(project, jobs, books)]


def _clashes(
    project: Project, jobs: Sequence[Judged], books: Mapping[Key, Book]
) -> Iterator[Finding]:
    by_key = {(job.team, job.job): job for job in jobs if job.team}
    was = {key: job.was for key, job in by_key.items() if job.was}
    home = {(key[0], name): key for key, book in books.items() for name in (key[1], *book.also)}
    for group in groups({key: book.also for key, book in books.items()}, was):
        own = {home[name] for name in group if name in home}
        found = clash(group, by_key, [key for key in own if books[key].launched])
        if found is not None:
            yield _told(project, found, by_key)


def _told(project: Project, found: Clash, by_key: Mapping[Key, Judged]) -> Finding:
    """The finding at the last file that says `was`; where none does, at the last file."""
    saying = [key for key in found.files if by_key[key].was]
    at = (saying or found.files)[-1]
    others = [by_key[key] for key in found.files if key != at]
    node = _node(project, by_key[at])
    place = _place(node.get("was") if node is not None else None, by_key[at].path)
    related = [Related(Place.start(other.path), "the other file") for other in others]
    if others:
        remedy = f"delete {others[0].path}" + (
            ", or take `was` out: they are two jobs" if saying else f", or {by_key[at].path}"
        )
    else:
        remedy = "take `was` out: each name has a history of its own already"
    return finding("two-files-by-was", place, found.said, remedy, related)


def _unknown_runs(
    project: Project, jobs: Sequence[Judged], books: Mapping[Key, Book]
) -> Iterator[Finding]:
    """The runs under `checkpoint.from` that have never started, where any ledger is known."""
    home = {(key[0], name): key for key, book in books.items() for name in (key[1], *book.also)}
    for job in jobs if books else ():
        if not job.resumes:
            continue
        key = home.get((job.team, job.job)) or home.get((job.team, job.was))
        launched = books[key].launched if key is not None else frozenset[int]()
        if launched is None:
            continue
        if not launched and f"{job.team}/{job.job}" in project.policy.adopted:
            launched = frozenset({1})
        # Of a word that is no run's, another rule tells.
        missing = {word for word in job.resumes if _RUN.fullmatch(word)}
        missing -= {f"r{number}" for number in launched}
        for scalar in resumed_from(_node(project, job)) if missing else ():
            if scalar in missing:
                missing.remove(scalar)
                known = [f"r{number}" for number in sorted(launched, reverse=True)]
                yield finding(
                    "unknown-run",
                    scalar.place,
                    f"no run {scalar} of {job.job} has ever started",
                    any_of(known) if known else "take `from` out: it has no run yet",
                )


def _node(project: Project, job: Judged) -> Tree | None:
    return project.judge(project.repository.root / job.path).node


def _place(node: Node | None, path: str) -> Place:
    return node.place if node is not None else Place.start(path)
