"""A repository with an image whose training needs no torch, and rehearsals of its jobs."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from declarations import TODAY, repository

from compiler.project import Project
from compiler.rehearsal.account import Account, Problem
from compiler.rehearsal.casting import Choice
from compiler.rehearsal.playing import Played, Wish, rehearse
from compiler.repository import Repository
from compiler.results import RunResult

TRAINING = Path(__file__).with_name("training.py")
IMAGE = """\
entry: [python, train.py]
guard: native
workdir: /app
tiny: [--steps, "60"]
"""
LOCKED = """\
  counter:
    reference: registry.example.com/training/counter:1
    digest: sha256:e0c0e0c0e0c0e0c0e0c0e0c0e0c0e0c0e0c0e0c0e0c0e0c0e0c0e0c0e0c0e0c0
    example: true
"""
# Two nodes of one process: without torchrun, RANK and WORLD_SIZE are right only there.
JOB = """\
team: nlp
image: counter
accelerators: H100:1
num_nodes: 2
queue: research
max_duration: 24h
retry: {max: 3}
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
"""


def job(extra: str = "", **fields: str | None) -> str:
    """The job with fields replaced (None: left out), and with `extra` lines at its end."""
    lines: list[str] = []
    for line in JOB.splitlines():
        key, _, value = line.partition(": ")
        chosen = fields.pop(key, value)
        if chosen is not None:
            lines.append(f"{key}: {chosen}")
    lines += [f"{key}: {value}" for key, value in fields.items() if value is not None]
    return "\n".join([*lines, extra]).rstrip("\n") + "\n"


def made(
    root: Path, text: str, files: Mapping[str, str] | None = None, image: str = IMAGE
) -> RunResult:
    """The judged run of a job in a repository that is made for it."""
    root.mkdir(parents=True, exist_ok=True)
    own = {"images/counter/image.yaml": image, "jobs/nlp/probe.yaml": text, **(files or {})}
    repository(root, own)
    shutil.copy(TRAINING, root / "images/counter/train.py")
    lock = root / "images/lock.yaml"
    lock.write_text(lock.read_text("utf-8") + LOCKED, "utf-8")
    result = Project(Repository(root), at=TODAY).judge(root / "jobs/nlp/probe.yaml")
    assert result.runs, [f"{item.rule}: {item.message}" for item in result.findings]
    return result.runs[0]


def played(
    root: Path,
    text: str,
    files: Mapping[str, str] | None = None,
    image: str = IMAGE,
    *,
    python: str = sys.executable,
    seconds: float = 90,
    nodes: int | None = None,
    mounts: Mapping[str, Path] | None = None,
    more: tuple[str, ...] = (),
    folder: Path | None = None,
) -> Played:
    """What came of the rehearsal of a job."""
    wish = Wish(nodes, None, seconds, python, Choice(folder, mounts or {}, more))
    return rehearse(made(root / "repository", text, files, image), wish, lambda text: None)


def parts(account: Account) -> dict[str, str]:
    """The parts of an account, with how they went."""
    return {part.name: part.status for part in account.parts}


def problem(account: Account) -> Problem:
    """The one problem that there is."""
    assert len(account.problems) == 1, account.text()
    return account.problems[0]


def place(found: Problem) -> str:
    """Where it stands: path:line:column."""
    return f"{found.place.path}:{found.place.line}:{found.place.column}"
