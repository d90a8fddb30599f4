"""Whose quota a change spends, and whether its author is one of the team's owners.

Advice, not a lock: CODEOWNERS and a protected branch are what keeps others out.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from compiler.codeowners import handle
from compiler.diagnostics import Finding, Place, Related
from compiler.nodes import Mapping, descend
from compiler.rules import finding
from compiler.source import decode
from compiler.tree import read
from compiler.weights import everywhere

if TYPE_CHECKING:
    from compiler.memory import Judged
    from compiler.policy.team import Team
    from compiler.repository import Document, Repository


def spending(
    repository: Repository, jobs: Collection[Judged], login: str, base: str | None = None
) -> list[Finding]:
    """What is to be said about the teams whose quota the jobs spend, with `login` as the author.

    With `base` only jobs count that differ from that commit, or mount a file that does. Raises
    CompilerError for an unknown commit, and where there is no git to ask.
    """
    policy = repository.policy()
    if base is not None:
        changed = changes(repository, base)
        jobs = [job for job in jobs if job.path in changed or changed & set(job.depends)]
    found: list[Finding] = []
    for job in jobs:
        team = policy.teams.get(job.team)
        if team is not None:
            found += _of_job(repository, job, team, login)
    return everywhere(found, {job.path: job.team for job in jobs}, policy)


def changes(repository: Repository, base: str) -> set[str]:
    """The files, by their path in the repository, that differ from where `base` was left."""
    from compiler.runs.git import Git

    git = Git(repository.root)
    start = git.text("merge-base", git.commit(base), "HEAD")
    said = git.text("diff", "--name-only", "--no-renames", "-z", start, "--", f":/{git.prefix}")
    return {path.removeprefix(git.prefix) for path in said.split("\0") if path}


def owns(team: Team, login: str) -> bool | None:
    """Whether a login is one of a team's owners; None where a team of the host may have it."""
    known = [owner.removeprefix("@").casefold() for owner in team.owners]
    if login.removeprefix("@").casefold() in known:
        return True
    return None if any("/" in owner for owner in known) else False


def _of_job(repository: Repository, job: Judged, team: Document[Team], login: str) -> list[Finding]:
    own = owns(team.value, login)
    if own is True:
        return []
    owners = ", ".join(handle(owner) for owner in team.value.owners)
    place = _place(repository, job)
    related = [Related(team.place("owners"), "the team's owners")]
    if own is None:
        return [
            finding(
                "unresolved-owner",
                place,
                f"whether {handle(login)} owns the team {team.name} cannot be told from here: its"
                f" owners are {owners}",
                "have it approved by one of them",
                related,
            )
        ]
    return [
        finding(
            "foreign-quota",
            place,
            f"this spends the quota of the team {team.name}, and {handle(login)} is none of its"
            f" owners ({owners})",
            "have it approved by one of them",
            related,
        )
    ]


def _place(repository: Repository, job: Judged) -> Place:
    """Where a declaration says its team; its start where the folder does."""
    start = Place.start(job.path)
    try:
        source, _ = decode(job.path, repository.read_bytes(repository.root / job.path))
    except OSError:
        return start
    node = None if source is None else read(source)[0]
    if isinstance(node, Mapping):
        there, complete = descend(node, ("team",), False)
        if complete:
            return there.place
    return start
