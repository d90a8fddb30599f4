"""`check` over a whole repository: in parallel, and only what changed since the last time."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from compiler.diagnostics import arrange
from compiler.memory import Checked, Judged, Memory, RunSummary, context, judged_of, row_of
from compiler.repository import Repository
from compiler.workers import cores, share

if TYPE_CHECKING:
    from compiler.project import Project
    from compiler.results import JobResult

__all__ = ["Beside", "Checked", "Judged", "RunSummary", "check", "check_again", "context_of"]

# Below this many changed files a second process costs more than it saves.
WORTH_A_PROCESS = 60


class Beside(Struct):
    """Something more to make of a declaration while its models are at hand.

    `make` returns what JSON keeps as it is; `made` holds that by path, of the declarations that
    were judged anew.
    """

    make: Callable[[JobResult], Any]
    made: dict[str, Any] = field(default_factory=dict[str, Any])


def check_again(
    repository: Repository,
    at: datetime | None = None,
    cluster: str | None = None,
    paths: Sequence[Path] | None = None,
) -> Checked:
    """`check`, which loads models and rules only where something has changed."""
    at = at or datetime.now(UTC)
    memory = Memory(repository, at.date(), cluster)
    with _uncollected(last=True):
        known = memory.outcome()
        if known is not None:

            def project() -> Project:
                from compiler.project import Project

                return Project(repository, at=at, cluster=cluster)

            return _finished(known, repository, paths, project)
        from compiler.project import Project

        return check(Project(repository, at=at, cluster=cluster), paths, memory=memory)


def check(
    project: Project,
    paths: Sequence[Path] | None = None,
    processes: int | None = None,
    memory: Memory | None = None,
    beside: Beside | None = None,
) -> Checked:
    """Judge all declarations (or those of `paths`) and everything around them.

    Checks about several jobs together always see all jobs; with `paths`, only findings about
    those files are returned. `beside` makes something more of each declaration that is judged
    anew.
    """
    if memory is None:
        memory = Memory(project.repository, project.today, project.only_cluster)
    with _uncollected():
        outcome = _check(project, memory, processes or cores(), beside)
        return _finished(outcome, project.repository, paths, lambda: project)


def _finished(
    outcome: Checked,
    repository: Repository,
    paths: Sequence[Path] | None,
    project: Callable[[], Project],
) -> Checked:
    """The outcome with the verdict over all jobs and with what git knows, as far as is asked."""
    from compiler.quota.verdict import with_verdict

    told = with_verdict(outcome, repository, project, paths)
    return _with_history(told, repository, project).within(repository, paths)


def _with_history(
    outcome: Checked, repository: Repository, project: Callable[[], Project]
) -> Checked:
    """The outcome with what git knows against `overlays/`, and against files that are mounted."""
    from compiler.runs.mounts import untracked_mounts
    from compiler.runs.verification import verified

    history = verified(repository)
    found = [*history.findings, *untracked_mounts(repository, outcome.jobs, project)]
    findings = None
    if found:
        from compiler.weights import everywhere

        weighed = everywhere(
            found, {job.path: job.team for job in outcome.jobs}, repository.policy()
        )
        findings = arrange([*outcome.findings, *weighed])
    return replace(outcome, findings=findings or outcome.findings, skipped=history.skipped)


def _check(project: Project, memory: Memory, processes: int, beside: Beside | None) -> Checked:
    repository = project.repository
    files, findings = memory.job_files
    judged: dict[str, Judged] = {}
    fresh: list[Path] = []
    for path in files:
        known = memory.recall(path)
        if known is None:
            fresh.append(path)
        else:
            judged[known.path] = known
    changed = bool(fresh) or memory.together is None or len(memory) != len(files)
    if memory.policy is None:
        memory.policy = [*project.policy.findings, *project.base_findings]
        memory.policy_files = len(project.policy.sources)
    for shown, row, more in _judge_all(project, fresh, memory, processes, beside):
        memory.rows[shown] = row
        if beside is not None:
            beside.made[shown] = more
        judged[shown] = judged_of(shown, row)
    jobs = [judged[repository.relative(path)] for path in files]
    if changed:
        memory.together = _together(jobs, project)
    memory.keep(jobs, changed)
    return memory.summed(jobs, findings)


def _together(jobs: Sequence[Judged], project: Project) -> list[Any]:
    from compiler.rules import of_stage
    from compiler.weights import everywhere

    found: list[Any] = [
        item
        for rule in of_stage("repository")
        if rule.check is not None
        for item in rule.check(jobs, project)
    ]
    return everywhere(found, {job.path: job.team for job in jobs}, project.policy)


def _judge_all(
    project: Project,
    files: Sequence[Path],
    memory: Memory,
    processes: int,
    beside: Beside | None,
) -> Iterator[tuple[str, list[Any], Any]]:
    """Each declaration's path and row, and what was made beside it."""
    if not files:
        return
    if len(files) < WORTH_A_PROCESS:
        processes = 1
    from compiler.results import summarised

    # Everything that the processes share is there before they part.
    project.prepare()

    def work(part: Sequence[Path]) -> list[Any]:
        rows: list[Any] = []
        for path in part:
            result = project.judge(path, memory.contents.pop(path, None))
            more = beside.make(result) if beside is not None else None
            rows.append((result.path, row_of(summarised(result)), more))
        return rows

    for rows in share(files, work, processes):
        yield from rows


@contextmanager
def _uncollected(last: bool = False) -> Generator[None]:
    """Without the search for cycles: there are hardly any, and it takes a quarter of the time.

    `last` says that little comes after it in this process: then what was made is left out of the
    next search too.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if last:
                gc.freeze()
            gc.enable()


def context_of(project: Project) -> str:
    """Everything besides the declaration itself that its judgement depends on."""
    return context(project.repository, project.today, project.only_cluster)
