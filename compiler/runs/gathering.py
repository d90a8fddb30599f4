"""From a repository to what the fold wants to know of each declaration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import cast

from msgspec import Struct, field

from compiler.belonging import folder_of
from compiler.checks.vague_stop import clear
from compiler.diagnostics import Finding, Severity
from compiler.digests import operation, training
from compiler.guard import guarded
from compiler.memory import context, state_of
from compiler.model import Run
from compiler.nodes import Mapping as Tree
from compiler.nodes import Scalar
from compiler.project import Project
from compiler.quota.demand import demand, least
from compiler.quota.limits import budgets, limits_of
from compiler.quota.month import Month, Purse
from compiler.quota.sums import rooms
from compiler.results import JobResult, summarised
from compiler.rules import registered
from compiler.runs.entries import Ledger
from compiler.runs.fold import Declared, Key, StopNow, Target
from compiler.runs.mentions import book_of, doubted
from compiler.runs.room import Limits, Room
from compiler.site import operational_env

Ranks = Callable[[str], int]


class Gathered(Struct):
    """All declarations as the fold wants them, and everything that is wrong in the repository.

    `judged` are the outcomes by path, `context` is what they rest on besides the files themselves.
    """

    declared: list[Declared]
    results: dict[Key, JobResult]
    findings: list[Finding]
    judged: dict[str, JobResult] = field(default_factory=dict[str, JobResult])
    context: str = ""


def gather(
    project: Project,
    ranks: Ranks,
    ledgers: Mapping[Key, Ledger],
    before: Gathered | None = None,
) -> Gathered:
    """What is declared now.

    What is as it was in the tree of `before`, and rests on the same, is not judged again. A file
    that cannot be judged keeps its job: by the team of its folder or its own line, else by
    every ledger of that name, for nothing that was meant to be there may be read as absent.
    """
    files, findings = project.repository.job_files()
    findings = [*findings, *project.policy.findings, *project.base_findings]
    rests_on = context(project.repository, project.today, project.only_cluster)
    known = before.judged if before is not None and before.context == rests_on else {}
    results = [_judged(project, path, known) for path in files]
    for result in results:
        findings += result.findings
    findings += _together(results, project, ledgers)
    errors = errors_by_path(findings)
    declared: list[Declared] = []
    by_key: dict[Key, JobResult] = {}
    named: set[Key] = set()
    teamless: list[tuple[str, JobResult]] = []
    for path, result in zip(files, results, strict=True):
        job = result.job or path.stem
        key = (result.team or _folder(result.path, job, project, ledgers), job)
        if not key[0]:
            teamless.append((job, result))
        elif key in named:
            # Named by two files: neither is believed.
            declared = [item for item in declared if item.key != key]
            declared.append(_unusable(key, result, ranks, errors))
        else:
            named.add(key)
            if result.team:
                by_key[key] = result
            declared.append(declared_of(key, result, project, ranks, errors))
    for job, result in teamless:
        # A job that another file declares is not absent, whoever this one is of.
        keys = [key for key in ledgers if key[1] == job and key not in named] or [("", job)]
        named.update(keys)
        declared += [_unusable(key, result, ranks, errors) for key in keys]
    broken = _broken_teams(project, ledgers, {item.key for item in declared})
    judged = {result.path: result for result in results}
    return Gathered([*declared, *broken], by_key, findings, judged, rests_on)


def _folder(path: str, job: str, project: Project, ledgers: Mapping[Key, Ledger]) -> str:
    """The team whose folder a file is in; empty where it is in none."""
    team = folder_of(path)
    return team if team in project.policy.teams or (team, job) in ledgers else ""


def _judged(project: Project, path: Path, known: Mapping[str, JobResult]) -> JobResult:
    """The outcome of a declaration; the known one where nothing of it has changed."""
    repository = project.repository
    shown = repository.relative(path)
    earlier = known.get(shown)
    if earlier is not None and earlier.digest == state_of(repository, shown):
        mounted = earlier.depends.items()
        if all(state_of(repository, name) == state for name, state in mounted):
            return earlier
    return project.judge(path)


def _together(
    results: Sequence[JobResult], project: Project, ledgers: Mapping[Key, Ledger]
) -> list[Finding]:
    """The findings about several jobs together, and about what the ledgers do not confirm."""
    from compiler.rules import of_stage
    from compiler.weights import everywhere

    jobs = [summarised(result) for result in results]
    found: list[Finding] = []
    for rule in of_stage("repository"):
        assert rule.check is not None
        found += cast("Iterable[Finding]", rule.check(jobs, project))
    found += doubted(project, jobs, {key: book_of(ledger) for key, ledger in ledgers.items()})
    return everywhere(found, {job.path: job.team for job in jobs}, project.policy)


def errors_by_path(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """The errors that stand at a file or name it, by its path."""
    errors: dict[str, list[Finding]] = {}
    for item in findings:
        if item.severity is Severity.ERROR:
            for path in {item.place.path, *(related.place.path for related in item.related)}:
                errors.setdefault(path, []).append(item)
    return errors


def _unusable(
    key: Key, result: JobResult, ranks: Ranks, errors: Mapping[str, list[Finding]]
) -> Declared:
    found = errors.get(result.path, [])
    why = _said(found[0]) if found else f"{result.path} cannot be read"
    return Declared(
        *key,
        result.path,
        unusable=why,
        was=_word(result.node, "was") or None,
        order=(ranks(result.path), result.path),
    )


def _said(item: Finding) -> str:
    return f"{item.code} {item.rule} at {item.place.path}:{item.place.line or 1}: {item.message}"


def declared_of(
    key: Key,
    result: JobResult,
    project: Project,
    ranks: Ranks,
    errors: Mapping[str, list[Finding]],
) -> Declared:
    """One declaration as the fold wants it; `errors` are those of the repository, by path."""
    node, source = result.node, result.source
    found = errors.get(result.path, [])
    stopped = _word(node, "state") == "stopped"
    expired = _expired(node, project.today)
    missing = [name for name in result.clusters if name not in result.models]
    shape = [item for item in found if registered()[item.rule].rule.stage == "source"]
    if node is None or source is None or not result.clusters or (missing and shape):
        return _unusable(key, result, ranks, errors)
    refusing = [item for item in found if registered()[item.rule].rule.stage != "source"]
    targets = {
        cluster: _target(run, project, _said(refusing[0]) if refusing else "")
        for cluster, run in result.models.items()
    }
    return Declared(
        *key,
        result.path,
        text=source.text,
        clusters=result.clusters,
        targets=targets,
        stopped=stopped,
        expired=expired,
        unusable=_said(shape[0]) if shape else "",
        was=_word(node, "was") or None,
        order=(ranks(result.path), result.path),
        files=dict(result.depends),
    )


def _word(node: Tree | None, name: str) -> str:
    value = node.get(name) if node is not None else None
    return str(value) if isinstance(value, Scalar) else ""


def _expired(node: Tree | None, today: date) -> bool:
    try:
        return date.fromisoformat(_word(node, "expires")) < today
    except ValueError:
        return False


def _target(run: Run, project: Project, refused: str) -> Target:
    patterns = operational_env(project.policy.rules)
    checkpoint = run.checkpoint
    resume = int(checkpoint.resume[1:]) if checkpoint and checkpoint.resume else None
    return Target(
        training=training(run, patterns),
        operation=operation(run, patterns),
        demand=demand(run),
        least=least(run),
        seconds=run.max_duration or 0,
        guarded=guarded(run),
        resume_from=resume,
        nodes=run.nodes,
        image=run.others.image.digest or run.others.image.reference,
        image_name=run.others.image.name or "",
        checkpoint_root=checkpoint.path.rstrip("/") if checkpoint else None,
        declared_hours=hours(run),
        refused=refused,
    )


def hours(run: Run) -> str:
    """Accelerator-hours at the most (node-hours without accelerators), as a decimal number."""
    if run.max_duration is None:
        return ""
    return decimal(Fraction(sum(demand(run).values()) * run.max_duration, 3600))


def decimal(value: Fraction) -> str:
    """A fraction as a decimal number of at most three digits after the point, rounded up."""
    thousandths = -(-value.numerator * 1000 // value.denominator)
    whole, rest = divmod(thousandths, 1000)
    return f"{whole}.{rest:03d}".rstrip("0").rstrip(".")


def _broken_teams(
    project: Project, ledgers: Mapping[Key, Ledger], known: set[Key]
) -> list[Declared]:
    """Jobs with runs whose team's policy cannot be read: left as they are."""
    policy = project.policy
    return [
        Declared(
            *key,
            f"policy/teams/{key[0]}.yaml",
            unusable=f"policy/teams/{key[0]}.yaml is unreadable",
        )
        for key in ledgers
        if key not in known and policy.unreadable("teams", key[0])
    ]


def limits(project: Project) -> dict[str, Limits]:
    """The room on each cluster, as policy has it."""
    return rooms(limits_of(project.policy))


def room(project: Project) -> Room:
    """The room on all clusters, and what the budgets of the month allow."""
    return Room(limits(project), Purse(Month.of(project.at), budgets(project.policy)))


def stops(project: Project) -> list[StopNow]:
    """The stops that are in force today."""
    return [
        StopNow(stop.value.reason, stop.value.run, stop.value.team, stop.value.image)
        for stop in project.policy.stops.values()
        if clear(stop.value) and (stop.value.until is None or stop.value.until >= project.today)
    ]


def unread_stop(project: Project) -> str:
    """The first stop that does not tell what it stops, in words; '' where all do.

    It may be about anything: nothing starts, and nothing that it stopped goes on, for want of it.
    """
    for path in sorted(project.policy.broken):
        if path.startswith("policy/stops"):
            return f"{path} cannot be read, and may stop it"
    for stop in project.policy.stops.values():
        if not clear(stop.value):
            return f"{stop.path} does not say what it stops, and may stop it"
    return ""
