"""A small company's configuration repository in real git: a remote, a clone, publish and plan."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copytree
from typing import Any

from compiler.repository import Repository
from compiler.runs import publishing
from compiler.runs.observations import Observation, Observed
from compiler.runs.planning import Planned, Question, plan
from compiler.runs.publishing import Published, Request, publish
from compiler.runs.reporting import as_json

ROOT = Path(__file__).resolve().parents[2]
BEGIN = datetime(2026, 3, 1, 9, tzinfo=UTC)

CLUSTER = """\
backend: {single_node: job, multi_node: pytorchjob}
admission: ledger
currency: USD
accelerators:
  H100:
    resource: nvidia.com/gpu
    per_node: 8
    nodes: 4
    node: {cpu: 188, memory: 1900Gi}
    price: 2.5
    per_accelerator: {cpu: 20, memory: 200Gi, shm_size: 16Gi}
claims:
  checkpoints: {access: ReadWriteMany}
  datasets: {access: ReadOnlyMany, read_only: true}
registries: {registry.example.com/training: {}}
network: {interface: eth0}
"""
TEAM = """\
namespace: p-nlp
owners: [kim]
clusters: [west, east]
default_cluster: west
quota:
  west: {H100: {guaranteed: 24}}
  east: {H100: {guaranteed: 32}}
"""
LOCK = """\
images:
  trainer:
    reference: registry.example.com/training/trainer:1
    digest: sha256:aa01aa01aa01aa01aa01aa01aa01aa01aa01aa01aa01aa01aa01aa01aa01aa01
"""


def job(**fields: object) -> str:
    """A declaration; fields replace those of a job that is guarded and fits three times."""
    values: dict[str, object] = {
        "image": "trainer",
        "command": "[torchrun, train.py]",
        "args": "[--lr, 1e-4]",
        "accelerators": "H100:8",
        "max_duration": "24h",
        "retry": "{max: 1}",
        "stop": "{grace: 5m}",
        "checkpoint": "{claim: checkpoints, path: /ckpt, every: 30m}",
    }
    values.update(fields)
    return "".join(f"{key}: {value}\n" for key, value in values.items() if value is not None)


class Company:
    """The remote and one clone; every commit and publish is an hour after the one before."""

    def __init__(self, folder: Path, settings: str = "") -> None:
        self.folder = folder
        self.hours = 0
        self.root = folder / "clone"
        remote = folder / "remote.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(remote)], check=True)
        self.root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.git("remote", "add", "origin", str(remote))
        copytree(ROOT / "base", self.root / "base")
        self.write("pyproject.toml", f"[tool.compiler]\n{settings}")
        self.write(".gitignore", ".cache/\n")
        self.write("policy/clusters/west.yaml", CLUSTER)
        self.write("policy/clusters/east.yaml", CLUSTER)
        self.write("policy/teams/nlp.yaml", TEAM)
        self.write("images/lock.yaml", LOCK)
        self.commit("Begin")
        self.git("push", "-q", "-u", "origin", "main")
        self.git("remote", "set-head", "origin", "main")

    @property
    def repository(self) -> Repository:
        """Read anew each time: files change between questions."""
        return Repository(self.root)

    @property
    def now(self) -> datetime:
        """The present time."""
        return BEGIN + timedelta(hours=self.hours)

    def git(self, *words: str) -> str:
        """What git says in the clone."""
        at = self.now.isoformat()
        who = {
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "kim"), ("EMAIL", "kim@example.com"), ("DATE", at))
        }
        words = ("git", "-c", "commit.gpgsign=false", "-c", "core.autocrlf=false", *words)
        done = subprocess.run(
            words,
            cwd=self.root,
            env={**os.environ, **who},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def write(self, path: str, text: str | None) -> None:
        """Write a file, or delete it (None)."""
        file = self.root / path
        if text is None:
            file.unlink()
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def commit(self, message: str = "Change") -> str:
        """Commit everything that there is; returns its name."""
        self.hours += 1
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def merge(self, message: str = "Change") -> str:
        """Commit, bring it onto the remote's main, and publish nothing."""
        made = self.commit(message)
        self.git("pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
        self.git("push", "-q", "origin", "HEAD:main")
        return made

    def publish(self, **asked: Any) -> Published:
        """Publish, and bring the clone up to date."""
        self.hours += 1
        done = publish(self.repository, Request(**asked), self.now)
        self.git("fetch", "-q", "origin")
        self.git("merge", "-q", "--ff-only", "origin/main")
        return done

    def plan(self, **asked: Any) -> Planned:
        """Plan."""
        return plan(self.repository, Question(**asked), self.now)

    def seen(self, cluster: str = "west", **outcomes: str) -> Observation:
        """An observation of runs by their names, with `_` for `-`."""
        runs = {
            ("p-nlp", name.replace("_", "-")): Observed(outcome)  # type: ignore[arg-type]
            for name, outcome in outcomes.items()
        }
        return Observation(cluster, self.now.isoformat(), False, runs)


def rows(planned: Planned) -> list[dict[str, Any]]:
    """What a plan says that its change brings about."""
    return [row for row in as_json(planned.report)["runs"] if row["caused"]]


def acts(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Runs and what happens to them."""
    return sorted((f"{row['name'] or row['job']}@{row['cluster']}", row["action"]) for row in found)


def without_proof(monkeypatch: Any) -> None:
    """Publish without kustomize: that it builds what it should is tested elsewhere."""
    monkeypatch.setattr(publishing, "prove", lambda claims, kustomize: None)
    monkeypatch.setattr(publishing, "find", lambda root: None)
