"""Whose quota a change spends and whose jobs it ends, and whether its author owns the team.

Advice, not a lock: CODEOWNERS and a protected branch are what keeps others out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
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
    from compiler.repository import Document, Policy, Repository
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
    `jobs` are the `whole` of the repository, those that were declared then and are no more. A team
    that was there then has the owners that it had then: nobody makes himself one by the change
    that needs one. Raises CompilerError for an unknown commit, and where there is no git to ask.
    """
    policy = repository.policy()
    owners = {name: team.value.owners for name, team in policy.teams.items()}
    found: list[Finding] = []
    if base is not None:
        from compiler.repository import Repository

        git, start = _left(repository, base)
        changed = _changes(git, start)
        if any(path.startswith("policy/") for path in changed):
            with git.checkout(start, "policy", "pyproject.toml") as folder:
                then = Repository(folder).policy().teams
            owners |= {name: team.value.owners for name, team in then.items()}
        if whole:
            found += _gone(git, start, policy, owners, jobs, login, changed)
        jobs = [job for job in jobs if job.path in changed or changed & set(job.depends)]
    for job in jobs:
        team = policy.teams.get(job.team)
        if team is not None:
            found += _of_job(repository, job, team, owners[job.team], login)
    return everywhere(found, {job.path: job.team for job in jobs}, policy)


def changes(repository: Repository, base: str) -> set[str]:
    """The files, by their path in the repository, that differ from where `base` was left."""
    return _changes(*_left(repository, base))


def _left(repository: Repository, base: str) -> tuple[Git, str]:
    """The commit at which `base` was left."""
    from compiler.runs.git import Git

    git = Git(repository.root)
    return git, git.text("merge-base", git.commit(base), "HEAD")


def _changes(git: Git, start: str) -> set[str]:
    here = ("-z", "--", f":/{git.prefix}")
    said = git.text("diff", "--name-only", "--no-renames", start, *here)
    # What is not yet added counts for whoever asks before they commit.
    said += "\0" + git.text("ls-files", "--others", "--exclude-standard", "--full-name", *here)
    return {path.removeprefix(git.prefix) for path in said.split("\0") if path}


def _gone(
    git: Git,
    start: str,
    policy: Policy,
    owners: dict[str, list[str]],
    jobs: Collection[Judged],
    login: str,
    changed: set[str],
) -> Iterator[Finding]:
    """A finding for each job that was declared at `start` and is no more."""
    touched = {path for path in changed if is_declaration(path)}
    if not touched:
        return
    then = git.files(start, "jobs")
    contents = git.blobs(then[path][1] for path in sorted(touched & then.keys()))
    now = {(job.team, name) for job in jobs for name in (job.job, job.was) if name}
    # A file that says no team cannot be judged, and is not absent for it.
    nameless = {job.path for job in jobs if not job.team}
    for path in sorted(touched & then.keys() - nameless):
        name = _team_in(path, contents[then[path][1]])
        job = PurePosixPath(path).stem
        if name not in owners or (name, job) in now:
            continue
        own = owns(owners[name], login)
        if own is True:
            continue
        listed = ", ".join(handle(owner) for owner in owners[name])
        said = f"{name}/{job} is no longer declared ({path}), so that its runs are stopped"
        if own is None:
            rule, who = "unresolved-owner", f"whether {handle(login)} owns the team cannot be told"
            who += f" from here: its owners are {listed}"
        else:
            rule, who = "foreign-run-stopped", f"{handle(login)} is none of its owners ({listed})"
        team = policy.teams.get(name)
        place = Place.start(path) if team is None else team.place("owners")
        yield finding(rule, place, f"{said}; {who}", "have it approved by one of them")


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


def owns(owners: Iterable[str], login: str) -> bool | None:
    """Whether a login is one of the owners; None where a team of the host may have it."""
    known = [owner.removeprefix("@").casefold() for owner in owners]
    if login.removeprefix("@").casefold() in known:
        return True
    return None if any("/" in owner for owner in known) else False


def _of_job(
    repository: Repository, job: Judged, team: Document[Team], owners: list[str], login: str
) -> list[Finding]:
    own = owns(owners, login)
    if own is True:
        return []
    listed = ", ".join(handle(owner) for owner in owners)
    place = _place(repository, job)
    related = [Related(team.place("owners"), "the team's owners")]
    if own is None:
        return [
            finding(
                "unresolved-owner",
                place,
                f"whether {handle(login)} owns the team {team.name} cannot be told from here: its"
                f" owners are {listed}",
                "have it approved by one of them",
                related,
            )
        ]
    return [
        finding(
            "foreign-quota",
            place,
            f"this spends the quota of the team {team.name}, and {handle(login)} is none of its"
            f" owners ({listed})",
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
