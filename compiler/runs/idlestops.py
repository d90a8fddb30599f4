"""Stops of policy that stop nothing: their run or image is known nowhere.

Which runs there were, only the ledger knows, and it changes without a declaration changing: so
this is looked at in every check, where there are stops at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from compiler.diagnostics import CompilerError, Finding
from compiler.rules import finding

if TYPE_CHECKING:
    from compiler.policy.rules import StopPolicy
    from compiler.repository import Document, Policy, Repository

FOLDER = "policy/stops/"
LEDGER = "overlays/ledger"


def idle_stops(repository: Repository) -> list[Finding]:
    """The stops of runs and images that neither the ledger nor anything else here knows."""
    if not any(path.startswith(FOLDER) for path in repository.surroundings):
        return []
    policy = repository.policy()
    books = _Books(repository)
    return [
        item
        for stop in policy.stops.values()
        for item in (*_of_run(stop, policy, books), *_of_image(stop, policy, books))
    ]


class _Books:
    """The ledgers at hand, then those of the published branch, read only where they are needed."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._places: list[Mapping[str, bytes]] = []

    @property
    def unknown(self) -> bool:
        """Whether the ledgers are on a branch that is not here."""
        branch = self.repository.settings.get("publish", {}).get("branch")
        return bool(branch) and not any(self._all())

    def runs(self, team: str, name: str) -> bool:
        """Whether there is a run of this name."""
        from compiler.runs.ledgerfile import parse

        for files in self._all():
            for path, data in files.items():
                if path.startswith(f"{LEDGER}/{team}/") and name.encode() in data:
                    ledger, _ = parse(path, data)
                    if ledger is not None and any(run.name == name for run in ledger.runs):
                        return True
        return False

    def started(self, image: str) -> bool:
        """Whether a run was started with an image of this name, digest or whole reference."""
        named = _named(image)
        return any(named.search(data) for files in self._all() for data in files.values())

    def _all(self) -> Iterator[Mapping[str, bytes]]:
        if not self._places:
            root = self.repository.root
            self._places.append(
                {
                    self.repository.relative(path): path.read_bytes()
                    for path in sorted((root / LEDGER).glob("*/*.yaml"))
                    if path.is_file()
                }
            )
        yield self._places[0]
        if len(self._places) == 1:
            self._places.append(self._upstream())
        yield self._places[1]

    def _upstream(self) -> Mapping[str, bytes]:
        """The ledgers of the branch that publish writes, as this clone last saw it."""
        from compiler.runs.git import Git
        from compiler.runs.upstream import upstream

        try:
            git = Git(self.repository.root)
            tip = upstream(git, self.repository)
            files = git.files(tip, LEDGER) if tip is not None else {}
            contents = git.blobs(blob for _, blob in files.values())
        except (CompilerError, OSError):
            return {}
        return {path: contents[blob] for path, (_, blob) in files.items()}


def _of_run(stop: Document[StopPolicy], policy: Policy, books: _Books) -> Iterator[Finding]:
    team, slash, name = (stop.value.run or "").partition("/")
    # Another rule tells of an unknown team, and of half a name.
    there = team in policy.teams or policy.unreadable("teams", team)
    if not (slash and name and there) or books.runs(team, name) or books.unknown:
        return
    yield finding(
        "idle-stop",
        stop.place("run"),
        f"the team {team} has no run called `{name}`",
        "write the name of a run as `runs JOB` shows it (git pull, if it is new), or stop its "
        "`image` or `team`",
    )


def _of_image(stop: Document[StopPolicy], policy: Policy, books: _Books) -> Iterator[Finding]:
    from compiler.suggestions import nearest

    image = stop.value.image
    if image is None:
        return
    entries = policy.lock.value.images if policy.lock is not None else {}
    known = {*policy.images, *entries}
    if image in known or "images/lock.yaml" in policy.broken:
        return
    if f"images/{image}/image.yaml" in policy.broken:
        return
    for entry in entries.values():
        if image in (entry.digest, entry.reference, f"{entry.reference}@{entry.digest}"):
            return
    if books.started(image) or _declared(image, books.repository) or books.unknown:
        return
    near = nearest(image, known)
    yield finding(
        "idle-stop",
        stop.place("image"),
        f"no image is called `{image}`, and no run has it",
        f"write `{near}`" if near is not None else "write its name under images/, or its digest",
    )


def _declared(image: str, repository: Repository) -> bool:
    named = _named(image)
    return any(named.search(repository.read_bytes(path)) for path in repository.job_files()[0])


def _named(image: str) -> re.Pattern[bytes]:
    """What a file has where it gives an image this name, digest or reference.

    As text, since a file need not be valid for its run to be stopped. A part of a name is another
    image: a stop of `llm` stops no run of `llm-sft`.
    """
    quoted = re.escape(image).encode()
    return re.compile(
        rb"""\bimage(?:_name)?["']?\s*:\s*["']?(?:[^\s"'@]+@)?""" + quoted + rb"""(?=[\s"',}]|\Z)"""
    )
