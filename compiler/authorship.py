"""Whose quota a change spends and whose jobs it ends, and whether its author owns the team.

Advice, not a lock: CODEOWNERS and a protected branch are what keeps others out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from compiler.belonging import folder_of
from compiler.codeowners import handle
from compiler.diagnostics import Finding, Place, Related
from compiler.nodes import Mapping, Scalar, descend
from compiler.rules import finding
from compiler.source import decode
from compiler.tree import read
from compiler.weights import everywhere

if TYPE_CHECKING:
    from compiler.memory import Judged
    from compiler.policy.team import Team
    from compiler.repository import Document, Repository
    from compiler.runs.git import Git


def spending(
    repository: Repository,
    jobs: Collection[Judged],
    login: str,
    base: str | None = None,
    *,
    whole: bool = True,
) -> list[Finding]:
    """What is to be said about the teams whose quota the jobs spend, with `login` as the author.

    With `base` only jobs count that differ from that commit, or mount a file that does; and where
    `jobs` are the `whole` of the repository, those that were declared then and are no more. Raises
    CompilerError for an unknown commit, and where there is no git to ask.
    """
    policy = repository.policy()
    found: list[Finding] = []
    if base is not None:
        changed = changes(repository, base)
        if whole:
            found += _gone(repository, jobs, login, base, changed)
        jobs = [job for job in jobs if job.path in changed or changed & set(job.depends)]
    for job in jobs:
        team = policy.teams.get(job.team)
        if team is not None:
            found += _of_job(repository, job, team, login)
    return everywhere(found, {job.path: job.team for job in jobs}, policy)


def changes(repository: Repository, base: str) -> set[str]:
    """The files, by their path in the repository, that differ from where `base` was left."""
    from compiler.runs.git import Git

    git = Git(repository.root)
    start = _start(git, base)
    said = git.text("diff", "--name-only", "--no-renames", "-z", start, "--", f":/{git.prefix}")
    return {path.removeprefix(git.prefix) for path in said.split("\0") if path}


def _start(git: Git, base: str) -> str:
    return git.text("merge-base", git.commit(base), "HEAD")


def _gone(
    repository: Repository, jobs: Collection[Judged], login: str, base: str, changed: set[str]
) -> Iterator[Finding]:
    """A finding for each job that was declared at `base` and is no more."""
    from compiler.runs.git import Git

    touched = {path for path in changed if is_declaration(path)}
    if not touched:
        return
    git = Git(repository.root)
    then = git.files(_start(git, base), "jobs")
    contents = git.blobs(then[path][1] for path in sorted(touched & then.keys()))
    now = {(job.team, name) for job in jobs for name in (job.job, job.was) if name}
    # A file that says no team cannot be judged, and is not absent for it.
    nameless = {job.path for job in jobs if not job.team}
    teams = repository.policy().teams
    for path in sorted(touched & then.keys() - nameless):
        name = _team_in(path, contents[then[path][1]])
        job, team = PurePosixPath(path).stem, teams.get(name)
        if team is None or (name, job) in now:
            continue
        own = owns(team.value, login)
        if own is True:
            continue
        owners = ", ".join(handle(owner) for owner in team.value.owners)
        said = f"{name}/{job} is no longer declared ({path}), so that its runs are stopped"
        if own is None:
            rule, who = "unresolved-owner", f"whether {handle(login)} owns the team cannot be told"
            who += f" from here: its owners are {owners}"
        else:
            rule, who = "foreign-run-stopped", f"{handle(login)} is none of its owners ({owners})"
        yield finding(
            rule, team.place("owners"), f"{said}; {who}", "have it approved by one of them"
        )


def is_declaration(path: str) -> bool:
    """Whether a path is one that jobs are declared at."""
    parts = PurePosixPath(path).parts
    return parts[:1] == ("jobs",) and len(parts) in (2, 3) and path.endswith((".yaml", ".yml"))


def _team_in(path: str, content: bytes) -> str:
    """The team that a declaration belongs to: that of its folder, else the one that it names."""
    if folder := folder_of(path):
        return folder
    source, _ = decode(path, content)
    node = None if source is None else read(source)[0]
    written = node.get("team") if isinstance(node, Mapping) else None
    return str(written) if isinstance(written, Scalar) else ""


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
