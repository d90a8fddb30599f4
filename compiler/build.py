"""`build`: the tree that publish would write, every run of it proved with kustomize."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.json import Encoder

from compiler.backends import Object
from compiler.base import Base
from compiler.buildcache import BuildCache
from compiler.check import WORTH_A_PROCESS, Beside, Checked, Judged, check, context_of
from compiler.diagnostics import Finding, Severity
from compiler.kustomize import Kustomize, find
from compiler.overlay import PATCH, files, run_folder, snapshot, team_files
from compiler.platform.folder import platform_files
from compiler.project import Project
from compiler.proof import Claim, prove
from compiler.results import JobResult, RunResult
from compiler.syncers.folder import namespaces_in, sync_files, teams_in
from compiler.workers import cores, share
from compiler.writer import ensure_ours, write

Progress = Callable[[str, int, int], None]
_JSON = Encoder(order="sorted")


class Overlay(Struct):
    """One run in the tree. `proof` stands for its files, its base and its model together."""

    path: str
    cluster: str
    team: str
    job: str
    number: int
    backend: str
    base: str
    folder: str
    files: dict[str, str]
    proof: str
    objects: Sequence[Object] | None = None

    @property
    def name(self) -> str:
        """`nlp/llm-sft, run 1 on west`."""
        return f"{self.team}/{self.job}, run {self.number} on {self.cluster}"


class Built(Struct):
    """What a build did."""

    checked: Checked
    runs: int = 0
    proved: int = 0
    changed: int = 0
    gone: int = 0
    blocked: list[str] = field(default_factory=list[str])
    kustomize: Kustomize | None = None


def build(
    project: Project,
    folder: Path,
    paths: Sequence[Path] | None = None,
    progress: Progress = lambda what, done, of: None,
) -> Built:
    """Write the tree of all jobs, or of those of `paths`, into a folder.

    Jobs with errors are left out, as publish leaves them as they are. Raises CompilerError where
    the folder cannot be written, Unavailable without kustomize, and Unfaithful where an overlay
    does not build to its model; the folder is then as it was.
    """
    ensure_ours(folder, project.repository.root)
    wanted = None if paths is None else {project.repository.relative(path) for path in paths}
    beside = Beside(lambda made: _rendered(made, wanted))
    checked = check(project, paths, beside=beside)
    built = Built(checked)
    bad = _bad(checked.findings)
    built.blocked = [job.path for job in checked.jobs if job.path in bad]
    jobs = [job for job in checked.jobs if job.path not in bad]
    context = context_of(project)
    cache = BuildCache(project.repository.cache / "verified")
    try:
        stamps = {_stamp(context, job): job for job in jobs}
        known = {stamp: _recalled(project, made) for stamp, made in cache.rendered(stamps).items()}
        missing = {s: job for s, job in stamps.items() if known.get(s) is None}
        new = _new(project, missing, beside.made, progress)
        overlays = [one for s in stamps for one in new.get(s) or known.get(s) or ()]
        built.runs = len(overlays)
        _prove(project, overlays, cache, built, progress)
        lasting = {stamp: [_lasting(one) for one in made] for stamp, made in new.items()}
        cache.keep(lasting, stamps if paths is None else None)
        tree = _tree(project, overlays, everyone=paths is None)
        written = write(folder, tree, project.repository.root)
        built.changed = written.changed
        built.gone = sum(name.endswith(f"/{PATCH}") for name in written.gone)
    finally:
        cache.close()
    return built


def _bad(findings: Iterable[Finding]) -> set[str]:
    return {item.place.path for item in findings if item.severity is Severity.ERROR} | {
        related.place.path
        for item in findings
        if item.severity is Severity.ERROR
        for related in item.related
    }


def _new(
    project: Project, jobs: Mapping[str, Judged], made: Mapping[str, Any], progress: Progress
) -> dict[str, list[Overlay]]:
    """The overlays of jobs that no earlier build rendered, under the same keys.

    `made` are those that the check has rendered, by path; the others were judged by an earlier
    check, and are judged once more for their objects.
    """
    entries = {stamp: made[job.path] for stamp, job in jobs.items() if job.path in made}
    rest = [stamp for stamp in jobs if stamp not in entries]

    def work(part: Sequence[str]) -> Any:
        root = project.repository.root
        return {stamp: _rendered(project.judge(root / jobs[stamp].path)) for stamp in part}

    if rest:
        project.prepare()
        for part in share(rest, work, cores() if len(rest) >= WORTH_A_PROCESS else 1):
            entries |= part
            progress("rendering", len(entries), len(jobs))
    return {stamp: [Overlay(**entry) for entry in entries[stamp]] for stamp in jobs}


def _stamp(context: str, job: Judged) -> str:
    """Everything that a job's overlays depend on."""
    parts = [context, job.path, job.digest, *(f"{k}={v}" for k, v in sorted(job.depends.items()))]
    return sha256("\0".join(parts).encode()).hexdigest()


def _rendered(made: JobResult, wanted: AbstractSet[str] | None = None) -> list[dict[str, Any]]:
    """The overlays of a job's runs, as JSON keeps them; none where the job is not wanted."""
    if wanted is not None and made.path not in wanted:
        return []
    return [_overlay(one) for one in made.runs if not one.run.stopped]


def _overlay(made: RunResult) -> dict[str, Any]:
    who = made.run.identity
    texts = files(made, made.base)
    parts = [made.base.digest, *(f"{name}\0{text}" for name, text in texts.items())]
    model = _JSON.encode(made.objects)
    return {
        "path": made.run.path,
        "cluster": who.cluster,
        "team": who.team,
        "job": who.job,
        "number": who.number,
        "backend": made.base.name,
        "base": made.base.digest,
        "folder": run_folder(made.run),
        "files": texts,
        "proof": sha256("\0".join(parts).encode() + b"\0" + model).hexdigest(),
        "objects": made.objects,
    }


_LASTING = tuple(name for name in Overlay.__struct_fields__ if name != "objects")


def _lasting(overlay: Overlay) -> dict[str, Any]:
    """What is kept of an overlay: all but its objects, which are needed once, for the proof."""
    return {name: getattr(overlay, name) for name in _LASTING}


def _recalled(project: Project, entries: Any) -> list[Overlay] | None:
    """The overlays of an entry of the cache, or None where it is not what it should be."""
    try:
        made = [Overlay(**entry) for entry in entries]
        current = all(one.base == project.bases[one.backend].digest for one in made)
    except (TypeError, KeyError):
        return None
    return made if current else None


def _tree(project: Project, overlays: Sequence[Overlay], everyone: bool) -> dict[str, bytes]:
    """All files by path: overlays, the snapshots under them, and the teams' own files."""
    tree: dict[str, bytes] = {}
    runs: dict[tuple[str, str], list[tuple[str, int]]] = {}
    snapshots: set[tuple[str, str]] = set()
    if everyone:
        for cluster in project.policy.clusters:
            if project.only_cluster in (None, cluster):
                texts = platform_files(project.policy, cluster)
                tree |= {name: text.encode() for name, text in texts.items()}
        for team in project.policy.teams.values():
            for cluster in team.value.clusters:
                if project.only_cluster in (None, cluster) and cluster in project.policy.clusters:
                    runs[(cluster, team.name)] = []
    for overlay in overlays:
        for name, text in overlay.files.items():
            tree[name] = text.encode()
        runs.setdefault((overlay.cluster, overlay.team), []).append((overlay.job, overlay.number))
        snapshots.add((overlay.cluster, overlay.backend))
    bases: dict[str, Base] = project.bases
    for cluster, backend in snapshots:
        tree |= snapshot(cluster, bases[backend])
    for (cluster, team), active in runs.items():
        namespace = project.policy.teams[team].value.namespace
        for name, text in team_files(cluster, team, namespace, active).items():
            tree[name] = text.encode()
    if everyone:
        for cluster in project.policy.clusters:
            if project.only_cluster in (None, cluster):
                texts = _sync(project, cluster, tree)
                tree |= {name: text.encode() for name, text in texts.items()}
    return tree


def _sync(project: Project, cluster: str, tree: Mapping[str, bytes]) -> dict[str, str]:
    """What the cluster's syncer is to follow in the tree."""
    teams = {team: [project.policy.teams[team].value.namespace] for team in teams_in(cluster, tree)}
    branch = project.repository.publish_branch
    return sync_files(project.policy, cluster, teams, namespaces_in(cluster, tree), branch)


def _prove(
    project: Project,
    overlays: Sequence[Overlay],
    cache: BuildCache,
    built: Built,
    progress: Progress,
) -> None:
    """Prove the overlays that no earlier build proved with this kustomize."""
    if not overlays:
        return
    kustomize = built.kustomize = find(project.repository.root)
    version = str(kustomize.version)
    known = cache.proved(f"{version} {overlay.proof}" for overlay in overlays)
    fresh = [overlay for overlay in overlays if f"{version} {overlay.proof}" not in known]
    objects = _objects(project, fresh)
    claims = [
        Claim(one.name, one.folder, one.cluster, _read(project, one), objects[one.folder])
        for one in fresh
    ]
    prove(claims, kustomize, lambda done: progress("building", done, len(claims)), cores())
    built.proved = len(claims)
    cache.prove(f"{version} {overlay.proof}" for overlay in fresh)


def _read(project: Project, overlay: Overlay) -> dict[str, bytes]:
    """All files that kustomize reads for an overlay."""
    base = snapshot(overlay.cluster, project.bases[overlay.backend])
    return base | {name: text.encode() for name, text in overlay.files.items()}


def _objects(project: Project, overlays: Sequence[Overlay]) -> dict[str, Sequence[Object]]:
    """The objects of each overlay by its folder; those that were only recalled are made again."""
    found = {one.folder: one.objects for one in overlays if one.objects is not None}
    for path in {one.path for one in overlays if one.folder not in found}:
        for made in project.judge(project.repository.root / path).runs:
            found[run_folder(made.run)] = made.objects
    return found
