"""A company's configuration repository, worked with as people and its workflows do.

`init` makes it. A person has a clone and runs git; everything else is done by the repository's own
`ci/*.sh`, in a clone as a CI system has it, with the compiler of this source tree.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from compiler.kustomize import find

ROOT = Path(__file__).resolve().parents[2]
DIGEST = f"sha256:{'a1' * 32}"
COMPILER = f"""\
#!/bin/sh
PYTHONPATH={ROOT} exec {sys.executable} -m compiler "$@" ${{AT:+--at "$AT"}}
"""
CLUSTER = """\
versions: {kubernetes: 1.34.4, training_operator: 1.9.4, kueue: 0.17.0}
backend: {single_node: job, multi_node: pytorchjob}
admission: kueue
currency: USD
accelerators:
  H100:
    resource: nvidia.com/gpu
    per_node: 8
    nodes: 200
    node: {cpu: 188, memory: 1900Gi}
    price: 2.95
    memory: 80Gi
    flavor: h100
    per_accelerator: {cpu: 2, memory: 20Gi, shm_size: 1Gi}
queues:
  training: {cluster_queue: training, accelerators: [H100]}
priorities: {low: 100, normal: 1000}
claims:
  checkpoints: {access: ReadWriteMany}
registries: {registry.example.com/training: {}}
network: {interface: eth0}
init_image: registry.example.com/training/alpine:3.22
"""
TEAM = """\
namespace: p-NAME
owners: [kim]
clusters: [CLUSTER]
quota: {CLUSTER: {H100: {guaranteed: 48}}}
queues: [training]
"""
RULES = """\
owners: [kim]
keep_finished: 72h
stop_guard: 1
"""
JOB = """\
image: trainer
command: [sh, -c, "exec sleep 3600"]
args: []
accelerators: H100:4
queue: training
max_duration: 4h
retry: {max: 1}
stop: {grace: 30s}
checkpoint: {claim: checkpoints, path: /ckpt, every: 10m}
"""


def job(**fields: object) -> str:
    """A declaration on one node, a batch Job, with fields replaced (None: left out)."""
    values: dict[str, object] = yaml.safe_load(JOB)
    values.update(fields)
    return yaml.safe_dump({k: v for k, v in values.items() if v is not None}, sort_keys=False)


def distributed(**fields: object) -> str:
    """A declaration on two nodes, a PyTorchJob, with fields replaced (None: left out)."""
    return job(**{"num_nodes": 2, "accelerators": "H100:8", **fields})


class Configuration:
    """The bare repository `remote.git` in a folder, and the clones of a person and of CI.

    `cluster` is its only cluster; `sync` are the lines of policy that name its syncer.
    """

    def __init__(self, folder: Path, cluster: str, sync: str, teams: Iterable[str]) -> None:
        self.folder = folder
        self.cluster = cluster
        self.mine, self.base = folder / "mine", folder / "base"
        kustomize = find(ROOT)
        assert kustomize is not None, "make tools"
        who = {f"GIT_{role}_NAME": "kim" for role in ("AUTHOR", "COMMITTER")}
        mail = {f"GIT_{role}_EMAIL": "kim@example.com" for role in ("AUTHOR", "COMMITTER")}
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
            "NO_COLOR": "1",
            **who,
            **mail,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_EDITOR": "true",
            "KUSTOMIZE": kustomize.command[0],
        }
        self._make(sync, teams)

    def _make(self, sync: str, teams: Iterable[str]) -> None:
        self.run(sys.executable, "-m", "compiler", "init", str(self.mine), where=ROOT)
        self.run("git", "init", "-q", "--bare", "-b", "main", "remote.git")
        for path in self.mine.glob("policy/*/*.yaml"):
            path.unlink()
        self.write("jobs/research/hello.yaml", None)
        self.write(f"policy/clusters/{self.cluster}.yaml", CLUSTER + sync)
        self.write("policy/rules.yaml", RULES)
        reference = "registry.example.com/training/trainer:1"
        image = {"trainer": {"reference": reference, "digest": DIGEST}}
        self.write("images/lock.yaml", yaml.safe_dump({"images": image}))
        for team in teams:
            self.team(team)
        self.owners()
        for line in ("init -q -b main", "remote add origin ../remote.git", "add -A"):
            self.git(*line.split())
        self.git("commit", "-qm", "Begin")
        self.git("push", "-q", "-u", "origin", "main")
        self.git("remote", "set-head", "origin", "main")
        for clone in ("base", "pr"):
            self.run("git", "clone", "-q", "remote.git", clone)
        program = self.base / ".venv/bin/runwright"
        program.parent.mkdir(parents=True)
        program.write_text(COMPILER, "utf-8")
        program.chmod(0o755)

    def run(self, *words: str, where: Path | None = None, status: int | None = 0) -> str:
        """What a program prints; it must end with this status, where there is one."""
        done = subprocess.run(
            words,
            cwd=where or self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        if status is not None:
            assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}"
        return done.stdout

    def git(self, *words: str) -> str:
        """Git in the person's clone."""
        return self.run("git", *words, where=self.mine).strip()

    def write(self, path: str, text: str | None) -> None:
        """Write a file of the person's clone, or delete it (None)."""
        file = self.mine / path
        if text is None:
            file.unlink()
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def team(self, name: str) -> None:
        """Write the policy of a team; its namespace is p-<name>."""
        text = TEAM.replace("NAME", name).replace("CLUSTER", self.cluster)
        self.write(f"policy/teams/{name}.yaml", text)

    def owners(self) -> None:
        """Write CODEOWNERS anew, as whoever changes the owners of teams must."""
        self.run(
            sys.executable, "-m", "compiler", "--repo", str(self.mine), "codeowners", where=ROOT
        )

    def propose(self, message: str) -> str:
        """A pull request with what is in the person's clone, checked and planned as the workflows
        do; returns the comment with the plan."""
        self.git("switch", "-qc", "change")
        self.git("add", "-A")
        self.git("commit", "-qm", message)
        self.git("push", "-qf", "origin", "change")
        self.run("git", "pull", "-q", where=self.base)
        tree = self.folder / "pr"
        self.run("git", "fetch", "-q", where=tree)
        self.run("git", "checkout", "-q", "origin/change", where=tree)
        into = self.run("git", "rev-parse", "origin/main", where=tree).strip()
        self.run("sh", "base/ci/check.sh", "base", "pr", into)
        self.run("sh", "base/ci/plan.sh", "base", "pr", into, "plan")
        return (self.folder / "plan/plan.md").read_text("utf-8")

    def merge(self) -> str:
        """Merge what was proposed and let the workflow publish; returns the commit to be synced."""
        self.git("switch", "-q", "main")
        self.git("merge", "-q", "--no-ff", "-m", "Merge", "change")
        self.git("branch", "-qD", "change")
        return self.publish()

    def change(self, message: str = "Change") -> str:
        """Bring what is in the person's clone onto the main branch and publish; returns the commit
        to be synced."""
        self.push(message)
        return self.publish()

    def push(self, message: str = "Change") -> str:
        """Bring what is in the person's clone onto the main branch, past CI; returns the commit."""
        self.git("add", "-A")
        self.git("commit", "-qm", message)
        self.git("push", "-q", "origin", "main")
        return self.git("rev-parse", "HEAD")

    def revert(self, commit: str, status: int = 0) -> str:
        """Revert a commit and publish; returns the commit to be synced."""
        self.git("revert", "--no-edit", commit)
        return self.publish(status=status)

    def publish(self, *observed: Path, hours: float = 0, status: int = 0) -> str:
        """The workflow on the main branch, with observations, in so many hours; returns the
        remote's tip then. It must end with this status: 1 where something is blocked."""
        at = datetime.now(UTC) + timedelta(hours=hours)
        self.environment["AT"] = at.isoformat() if hours else ""
        self.git("push", "-q", "origin", "main")
        self.run("git", "pull", "-q", where=self.base)
        words = ("sh", "base/ci/publish.sh", "base", *(str(path) for path in observed))
        self.said = self.run(*words, status=status)
        self.environment["AT"] = ""
        self.git("pull", "-q")
        return self.git("rev-parse", "HEAD")

    def rebuilt(self) -> str:
        """What a person runs for a cluster that is built anew; returns the commit to be synced."""
        self.run("git", "pull", "-q", where=self.base)
        program = "base/.venv/bin/runwright"
        said = self.run(program, "--repo", "base", "publish", "--reset-cluster", self.cluster)
        self.said = said
        self.git("pull", "-q")
        return self.git("rev-parse", "HEAD")

    def observe(self, kubeconfig: Path) -> Path:
        """What the archive workflow makes of the cluster; the kubeconfig has its context."""
        out = self.folder / "observed"
        self.environment["KUBECONFIG"] = str(kubeconfig)
        self.run("sh", "base/ci/archive.sh", "base", str(out), self.cluster)
        return out / f"{self.cluster}.json"

    def ledger(self, team: str, name: str) -> list[dict[str, Any]]:
        """The runs of a job, as they stand in the person's clone."""
        text = (self.mine / f"overlays/ledger/{team}/{name}.yaml").read_text("utf-8")
        runs: list[dict[str, Any]] = yaml.safe_load(text)["runs"]
        return runs

    def states(self, team: str, name: str) -> list[str]:
        """The runs of a job in short."""
        return [f"{run['name']} {run['state']}" for run in self.ledger(team, name)]

    def listed(self, team: str) -> str:
        """The kustomization of a team's folder."""
        path = self.mine / f"overlays/{self.cluster}/{team}/kustomization.yaml"
        return path.read_text("utf-8")

    def objects(self, folder: str) -> list[dict[str, Any]]:
        """What kustomize builds of a folder of `overlays/<cluster>/`."""
        path = self.mine / f"overlays/{self.cluster}/{folder}"
        text = self.run(self.environment["KUSTOMIZE"], "build", str(path))
        return [item for item in yaml.safe_load_all(text) if item]
