"""What a check remembers: each declaration's outcome, by the content of all that it depends on.

Where nothing has changed, the outcome of the last check is the outcome of this one, and neither
models nor rules are loaded. A memory that is missing, broken or from another compiler is a check
from the start, never an error.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from compiler.cachefile import load_cached, save_cached
from compiler.diagnostics import Edit, Finding, Place, Related, Severity, arrange
from compiler.imagefiles import image_files
from compiler.repository import Repository


class RunSummary(Struct, frozen=True):
    """What sums and cross-job checks need of a run; small enough for a cache.

    `demand` is what it holds at the most, by accelerator; `least` what an elastic one begins with.
    `writes` are the folders that it says it writes to, `claims` those that one node at a time can
    mount, each with its place as `stored_place` has it (see `compiler.outputs`).
    """

    cluster: str
    team: str
    job: str
    name: str
    namespace: str
    nodes: int
    least_nodes: int
    accelerator: str
    accelerators: int
    demand: dict[str, int]
    least: dict[str, int] | None
    queue: str
    seconds: int
    retries: int
    stopped: bool
    owner: str
    writes: dict[str, list[Any]]
    claims: dict[str, list[Any]]


class Judged(Struct):
    """A declaration as a check remembers it.

    `depends` are the files that it mounts, each with the state that it was in (`state_of`), and
    `waivers` the files under `policy/waivers/` that it needs. `refused` are runs that stand against
    their team's quota and nothing else: the verdict tells what would fit instead. `was` is the
    job's former name, `resumes` are the runs that it names under `checkpoint.from`.
    """

    path: str
    digest: str
    team: str
    job: str
    findings: list[Finding]
    runs: list[RunSummary]
    depends: dict[str, str] = field(default_factory=dict[str, str])
    waivers: list[str] = field(default_factory=list[str])
    refused: list[RunSummary] = field(default_factory=list[RunSummary])
    was: str = ""
    resumes: list[str] = field(default_factory=list[str])


class Checked(Struct):
    """The outcome of a check; `skipped` says why the history was not looked at, if so.

    `verdict` are the limits that are passed, as rows of JSON. `context` stands for everything
    besides declarations that the outcome depends on.
    """

    findings: list[Finding]
    jobs: list[Judged]
    files: int
    skipped: str = ""
    verdict: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    context: str = ""

    def within(self, repository: Repository, paths: Iterable[Path] | None) -> Checked:
        """The part of the outcome that is about some files and folders; None stands for all.

        What is wrong elsewhere counts too where it names one of them, or where one of them stands
        on it: a job is not clean whose base or cluster cannot be read.
        """
        if paths is None:
            return self
        wanted = {repository.relative(path.resolve()) for path in paths}
        jobs = [job for job in self.jobs if _within(job.path, wanted)]
        # A job without a run could not be judged to its end: what it stands on may be why.
        under = {f"policy/teams/{job.team}.yaml" for job in jobs if not job.runs}
        findings = [f for f in self.findings if _concerns(f, wanted, under)]
        names = {f"{job.team}/{job.job}" for job in jobs}
        verdict = [row for row in self.verdict if names & {one["job"] for one in row["waiting"]}]
        files = len(jobs) + self.files - len(self.jobs)
        return Checked(findings, jobs, files, self.skipped, verdict, self.context)


def _concerns(item: Finding, wanted: set[str], under: set[str]) -> bool:
    places = [item.place, *(related.place for related in item.related)]
    if any(_within(place.path, wanted) for place in places):
        return True
    path = item.place.path
    shared = path in under or (bool(under) and path.startswith(("policy/clusters/", "base/")))
    return shared and item.severity is Severity.ERROR


def _within(path: str, wanted: set[str]) -> bool:
    return any(path == name or name in (".", "") or path.startswith(f"{name}/") for name in wanted)


class Memory:
    """The last check of a repository, and what of it still holds.

    `policy` is what was found in policy and bases, and `together` what was found about all jobs
    as a whole; None where it has to be looked for again. `rows` are
    the declarations as JSON has them. `contents` are the bytes of those that have changed, so that
    no file is read twice.
    """

    def __init__(self, repository: Repository, today: date, only_cluster: str | None) -> None:
        self.repository = repository
        self.file = repository.cache / "check.json"
        self.context = context(repository, today, only_cluster)
        self.contents: dict[Path, bytes] = {}
        self.policy: list[Finding] | None = None
        self.together: list[Finding] | None = None
        self.policy_files = 0
        self.rows: dict[str, list[Any]] = {}
        self._recalled: dict[Path, Judged] = {}
        self._states: dict[str, str] = {}
        try:
            stored = json.loads(load_cached(self.file))
            if stored["context"] == self.context:
                self.policy = [restored(item) for item in stored["policy"]]
                self.together = [restored(item) for item in stored["together"]]
                self.policy_files = int(stored["policy_files"])
                self.rows = dict(stored["jobs"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            self.policy = self.together = None
            self.rows = {}

    def __len__(self) -> int:
        """How many declarations it knows."""
        return len(self.rows)

    @cached_property
    def job_files(self) -> tuple[list[Path], list[Finding]]:
        """The declarations, and what is wrong with their folders; looked for once."""
        return self.repository.job_files()

    def outcome(self) -> Checked | None:
        """The outcome of a check now, where it is that of the last one; else None."""
        if self.policy is None or self.together is None:
            return None
        files, findings = self.job_files
        if len(files) != len(self.rows):
            return None
        jobs: list[Judged] = []
        for path in files:
            job = self.recall(path)
            if job is None:
                return None
            jobs.append(job)
        return self.summed(jobs, findings)

    def summed(self, jobs: list[Judged], findings: Iterable[Finding]) -> Checked:
        """All that is known, as one outcome; `findings` are those about the folders of jobs."""
        found = [*findings, *(self.policy or ()), *(self.together or ())]
        for job in jobs:
            found += job.findings
        files = len(jobs) + self.policy_files
        return Checked(arrange(found), jobs, files, context=self.context)

    def recall(self, path: Path) -> Judged | None:
        """What is known about a file with just this content, or None."""
        if path in self._recalled or path in self.contents:
            return self._recalled.get(path)
        shown = self.repository.relative(path)
        row = self.rows.get(shown)
        if row is None:
            return None
        content = self.repository.read_bytes(path)
        try:
            judged = judged_of(shown, row) if sha256(content).hexdigest() == row[0] else None
            if judged is not None and all(
                self.state(name) == state for name, state in judged.depends.items()
            ):
                self._recalled[path] = judged
                return judged
        except (TypeError, KeyError, IndexError, ValueError, AttributeError):
            pass
        self.contents[path] = content
        return None

    def state(self, name: str) -> str:
        """`state_of` a file of this repository, looked up once."""
        if name not in self._states:
            self._states[name] = state_of(self.repository, name)
        return self._states[name]

    def keep(self, jobs: Sequence[Judged], changed: bool) -> None:
        """Remember the outcome; a folder that cannot be written is worked without."""
        if not changed:
            return
        content = {
            "context": self.context,
            "policy": [stored(item) for item in self.policy or ()],
            "together": [stored(item) for item in self.together or ()],
            "policy_files": self.policy_files,
            "jobs": {job.path: self.rows[job.path] for job in jobs},
        }
        with suppress(UnicodeError):
            save_cached(self.file, json.dumps(content, separators=(",", ":")).encode())


def state_of(repository: Repository, name: str) -> str:
    """The digest of a file's content, marked where it is a link, or what stands in its place."""
    path = repository.root / name
    try:
        mark = "" if path.resolve() == repository.root.resolve() / name else "link "
        # Whoever opens a pipe waits for its other end.
        if path.is_file():
            return mark + sha256(path.read_bytes()).hexdigest()
    except (OSError, RuntimeError, ValueError):
        pass
    try:
        # The message about a missing file names the nearest one beside it.
        names = "\n".join(sorted(entry.name for entry in os.scandir(path.parent)))
        return "none " + sha256(names.encode("utf-8", "surrogateescape")).hexdigest()
    except (OSError, ValueError):
        return "none"


def context(repository: Repository, today: date, only_cluster: str | None) -> str:
    """The digest of everything besides the declarations that their judgement depends on.

    That is policy, image files, bases, the day, the chosen cluster, Python and the compiler; of the
    other files of an image only their names.
    """
    digest = sha256(f"{today} {only_cluster} {sys.version}\n".encode())
    for name, data in sorted(repository.surroundings.items()):
        digest.update(f"{name!r} {len(data)}\n".encode())
        digest.update(data)
        if name.endswith("/image.yaml") and b"workdir" in data:
            # Which files the image has decides whether its jobs can start.
            image = name.split("/")[1]
            digest.update("\n".join(sorted(image_files(repository.root, image))).encode())
    if b"source:" in repository.surroundings.get("images/lock.yaml", b""):
        # Whether an image is older than its folder is found out from the files in it.
        digest.update("\n".join(sorted(_image_stamps(repository.root))).encode())
    for name, stamp in sorted(_stamps(str(Path(__file__).parent), "")):
        digest.update(f"{name} {stamp}\n".encode())
    return digest.hexdigest()


def _image_stamps(root: Path) -> Iterator[str]:
    """The files of all images, each with its time, size and mode."""
    with suppress(OSError):
        for image in (entry.name for entry in (root / "images").iterdir()):
            for name in image_files(root, image):
                with suppress(OSError):
                    facts = (root / "images" / image / name).lstat()
                    stamp = f"{facts.st_mtime_ns} {facts.st_size} {facts.st_mode}"
                    yield f"{image!r} {name!r} {stamp}"


def _stamps(folder: str, inside: str) -> Iterator[tuple[str, str]]:
    """The files of the compiler, each with its time and size."""
    for entry in os.scandir(folder):
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _stamps(entry.path, f"{inside}{entry.name}/")
        else:
            facts = entry.stat()
            yield f"{inside}{entry.name}", f"{facts.st_mtime_ns} {facts.st_size}"


def row_of(job: Judged) -> list[Any]:
    """A job as JSON has it; `judged_of` is the way back."""
    return [
        job.digest,
        job.team,
        job.job,
        [stored(item) for item in job.findings],
        [_columns(run) for run in job.runs],
        job.depends,
        job.waivers,
        [_columns(run) for run in job.refused],
        job.was,
        job.resumes,
    ]


def _columns(run: RunSummary) -> list[Any]:
    return [getattr(run, name) for name in RunSummary.__struct_fields__]


def judged_of(path: str, row: Sequence[Any]) -> Judged:
    """The job of a row."""
    digest, team, job, findings, runs, depends, waivers, refused, was, resumes = row
    return Judged(
        path,
        digest,
        team,
        job,
        [restored(item) for item in findings],
        [RunSummary(*run) for run in runs],
        depends,
        waivers,
        [RunSummary(*run) for run in refused],
        was,
        resumes,
    )


def stored(item: Finding) -> list[Any]:
    """A finding as JSON has it; `restored` is the way back."""
    return [
        item.rule,
        item.code,
        item.severity.value,
        item.message,
        stored_place(item.place),
        item.help,
        [[stored_place(r.place), r.message] for r in item.related],
        [[stored_place(e.place), e.text] for e in item.edits],
    ]


def stored_place(place: Place) -> list[Any]:
    """A place as JSON has it; `Place(*columns)` is the way back."""
    return [place.path, place.line, place.column, place.end_line, place.end_column]


def restored(row: Sequence[Any]) -> Finding:
    """The finding of a row."""
    rule, code, severity, message, place, remedy, related, edits = row
    return Finding(
        rule,
        code,
        Severity(severity),
        message,
        Place(*place),
        remedy,
        tuple(Related(Place(*where), note) for where, note in related),
        tuple(Edit(Place(*where), text) for where, text in edits),
    )
