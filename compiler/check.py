"""`check` over a whole repository: in parallel, and only what changed since the last time."""

from __future__ import annotations

import json
import multiprocessing
import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from compiler.diagnostics import Edit, Finding, Place, Related, Severity, arrange
from compiler.project import JobResult, Project
from compiler.rules import of_stage

# Below this many changed files a second process costs more than it saves.
WORTH_A_PROCESS = 120


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What sums and cross-job checks need of a run; small enough for a cache."""

    cluster: str
    team: str
    job: str
    name: str
    namespace: str
    nodes: int
    least_nodes: int
    accelerator: str
    accelerators: int
    queue: str
    seconds: int
    retries: int
    stopped: bool
    writes: tuple[str, ...]


@dataclass(slots=True)
class Judged:
    """A declaration as a check remembers it."""

    path: str
    digest: str
    team: str
    job: str
    findings: list[Finding]
    runs: list[RunSummary]
    depends: dict[str, str] = field(default_factory=dict)  # type: ignore[assignment]


@dataclass(slots=True)
class Checked:
    """The outcome of a check."""

    findings: list[Finding]
    jobs: list[Judged]
    files: int


def check(
    project: Project, paths: Sequence[Path] | None = None, processes: int | None = None
) -> Checked:
    """Judge all declarations (or those of `paths`) and everything around them.

    Checks about several jobs together always see all jobs; with `paths`, only findings about
    those files are returned.
    """
    repository = project.repository
    files, findings = repository.job_files()
    findings = [*findings, *project.policy.findings, *project.base_findings]
    memory = _Memory(project)
    judged: dict[str, Judged] = {}
    fresh: list[Path] = []
    for path in files:
        known = memory.recall(repository.relative(path), path)
        if known is None:
            fresh.append(path)
        else:
            judged[known.path] = known
    for result in _judge_all(project, fresh, processes or os.cpu_count() or 1):
        judged[result.path] = result
    jobs = [judged[repository.relative(path)] for path in files]
    memory.keep(jobs, changed=bool(fresh) or len(memory.known) != len(jobs))
    for job in jobs:
        findings += job.findings
    for rule in of_stage("repository"):
        assert rule.check is not None
        for item in rule.check(jobs, project):
            findings.append(item)
    policy_files = len(project.policy.sources)
    if paths is not None:
        wanted = {repository.relative(path.resolve()) for path in paths}
        findings = [f for f in findings if _within(f.place.path, wanted)]
        jobs = [job for job in jobs if _within(job.path, wanted)]
    return Checked(arrange(findings), jobs, len(jobs) + policy_files)


def _within(path: str, wanted: set[str]) -> bool:
    return any(path == name or name in (".", "") or path.startswith(f"{name}/") for name in wanted)


_shared: Project | None = None


def _judge_all(project: Project, files: list[Path], processes: int) -> list[Judged]:
    if processes < 2 or len(files) < WORTH_A_PROCESS:
        return [summarised(result) for result in project.results(files)]
    # Everything that the workers share is read before the fork.
    global _shared
    _shared = project
    _ = project.policy, project.bases, of_stage("run")
    size = max(1, min(500, len(files) // (processes * 2) + 1))
    chunks = [files[start : start + size] for start in range(0, len(files), size)]
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        return [item for part in pool.map(_judge_chunk, chunks) for item in part]


def _judge_chunk(files: list[Path]) -> list[Judged]:
    assert _shared is not None
    return [summarised(result) for result in _shared.results(files)]


def summarised(result: JobResult) -> Judged:
    """A job's result without its trees."""
    runs = [
        RunSummary(
            cluster=made.run.identity.cluster,
            team=made.run.identity.team,
            job=made.run.identity.job,
            name=made.run.identity.name,
            namespace=made.run.identity.namespace,
            nodes=made.run.nodes,
            least_nodes=made.run.least_nodes,
            accelerator=made.run.others.devices.name if made.run.others.devices else "",
            accelerators=made.run.accelerators,
            queue=made.run.queue or "",
            seconds=made.run.max_duration or 0,
            retries=made.run.retries,
            stopped=made.run.stopped,
            writes=(),
        )
        for made in result.runs
    ]
    return Judged(
        result.path, result.digest, result.team, result.job, result.findings, runs, result.depends
    )


class _Memory:
    """What the last check found, by content; a miss is never an error."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.file = project.repository.cache / "check.json"
        self.context = context_of(project)
        self.known: dict[str, Any] = {}
        try:
            stored = json.loads(self.file.read_bytes())
            if stored["context"] == self.context:
                self.known = stored["jobs"]
        except (OSError, ValueError, KeyError, TypeError):
            self.known = {}

    def recall(self, shown: str, path: Path) -> Judged | None:
        """What is known about a file with just this content, or None."""
        stored = self.known.get(shown)
        if stored is None:
            return None
        try:
            if sha256(self.project.repository.read_bytes(path)).hexdigest() != stored[0]:
                return None
            for source, digest in stored[5].items():
                if (
                    sha256((self.project.repository.root / source).read_bytes()).hexdigest()
                    != digest
                ):
                    return None
            return Judged(
                shown,
                stored[0],
                stored[1],
                stored[2],
                [_finding(item) for item in stored[3]],
                [RunSummary(*item[:-1], tuple(item[-1])) for item in stored[4]],
                stored[5],
            )
        except (OSError, TypeError, KeyError, IndexError, ValueError):
            return None

    def keep(self, jobs: list[Judged], changed: bool) -> None:
        """Remember the outcome; a folder that cannot be written is worked without."""
        if not changed:
            return
        content = {
            "context": self.context,
            "jobs": {
                job.path: [
                    job.digest,
                    job.team,
                    job.job,
                    [_stored(f) for f in job.findings],
                    [_row(r) for r in job.runs],
                    job.depends,
                ]
                for job in jobs
                if job.digest
            },
        }
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.file.parent, prefix=".check-")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as stream:
                    stream.write(json.dumps(content, separators=(",", ":")))
                os.replace(name, self.file)
            except BaseException:
                os.unlink(name)
                raise
        except (OSError, UnicodeError):
            return


def _row(run: RunSummary) -> list[Any]:
    return [getattr(run, name) for name in RunSummary.__slots__]


def context_of(project: Project) -> str:
    """Everything besides the declaration itself that its judgement depends on."""
    parts = sorted(project.policy.digests)
    parts += sorted(f"{name}:{base.digest}" for name, base in project.bases.items())
    parts += [str(project.today), str(project.only_cluster)]
    package = Path(__file__).parent
    for path in sorted(package.rglob("*.py")):
        facts = path.stat()
        parts.append(f"{path.relative_to(package)}:{facts.st_mtime_ns}:{facts.st_size}")
    return sha256("\n".join(parts).encode()).hexdigest()


def _stored(item: Finding) -> list[Any]:
    return [
        item.rule,
        item.code,
        item.severity.value,
        item.message,
        _stored_place(item.place),
        item.help,
        [[_stored_place(r.place), r.message] for r in item.related],
        [[_stored_place(e.place), e.text] for e in item.edits],
    ]


def _stored_place(place: Place) -> list[Any]:
    return [place.path, place.line, place.column, place.end_line, place.end_column]


def _finding(stored: list[Any]) -> Finding:
    rule, code, severity, message, place, help, related, edits = stored
    return Finding(
        rule,
        code,
        Severity(severity),
        message,
        Place(*place),
        help,
        tuple(Related(Place(*where), note) for where, note in related),
        tuple(Edit(Place(*where), text) for where, text in edits),
    )
