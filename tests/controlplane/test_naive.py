"""Three designs that real repositories use, on the same controllers: each trains twice.

They have no ledger: what is listed is what is declared now, and the syncer does the rest, set up
as introductions show it. In test_lifecycle.py ours goes through the same histories.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from controlplane.api import Manifest, condition
from controlplane.following import Births, ended
from controlplane.syncers.gitserver import GitServer
from controlplane.syncers.syncer import Syncer

PATIENCE = 60.0
JOB = "batch/v1/Job"


def manifest(name: str, namespace: str, command: str, **spec: object) -> Manifest:
    """A batch Job that runs a command."""
    container = {"name": "main", "image": "registry.example.com/trainer:1", "command": [command]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {**spec, "backoffLimit": 0, "template": template},
    }


class Naive:
    """A repository with one manifest, and a syncer that follows it."""

    def __init__(self, syncer: Syncer, folder: Path, namespace: str) -> None:
        self.api, self.namespace = syncer.api, namespace
        self.clone = folder / "clone"
        self._run("git", "init", "-q", "--bare", "-b", "main", str(folder / "naive.git"))
        self._run("git", "clone", "-q", str(folder / "naive.git"), str(self.clone))
        self.git("switch", "-qc", "main")
        self.server = GitServer(folder)
        self.births = Births(self.api)
        self.made = syncer.plain(namespace, self.server.url("naive.git"), "./runs")
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})

    def _run(self, *words: str) -> None:
        who = {f"GIT_{r}_{k}": "kim" for r in ("AUTHOR", "COMMITTER") for k in ("NAME", "EMAIL")}
        subprocess.run(words, env={**os.environ, **who}, check=True, capture_output=True)

    def git(self, *words: str) -> None:
        """Git in the clone."""
        self._run("git", "-C", str(self.clone), *words)

    def declare(self, run: Manifest) -> None:
        """Let this be what the tree has."""
        folder = self.clone / "runs"
        folder.mkdir(exist_ok=True)
        (folder / "run.yaml").write_text(yaml.safe_dump(run), "utf-8")
        (folder / "kustomization.yaml").write_text("resources: [run.yaml]\n", "utf-8")
        self.git("add", "-A")
        self.git("commit", "-qm", "Change")
        self.push()

    def push(self) -> None:
        """Publish, as far as there is such a thing, and have it followed."""
        self.git("push", "-q", "origin", "main")
        self.api.apply_all(self.made)

    def born(self, name: str, times: int) -> None:
        """Wait until an object of a name was made so often."""
        self.api.until(
            lambda: self.births.of(self.namespace),
            lambda births: births.get(name) == times,
            PATIENCE,
            f"{times} × {name}",
        )

    def finish(self, name: str) -> None:
        """Let a run succeed."""
        self.api.until(lambda: self._finished(name), lambda done: done, PATIENCE, f"end of {name}")

    def _finished(self, name: str) -> bool:
        for pod in self.api.list("v1/Pod", self.namespace, f"batch.kubernetes.io/job-name={name}"):
            if pod.get("status", {}).get("phase") == "Pending":
                status = {"status": ended(pod, "Succeeded", 0)}
                at = pod["metadata"]["name"]
                self.api.patch("v1/Pod", at, self.namespace, status, subresource="status")
        return condition(self.api.find(JOB, name, self.namespace), "Complete") == "True"

    def gone(self, name: str) -> None:
        """Wait until a run is pruned."""
        self.api.gone(JOB, name, self.namespace, PATIENCE)

    def stop(self) -> None:
        """Follow no more, and take everything away."""
        self.births.stop()
        self.server.stop()
        for item in self.made[::-1]:
            metadata = item["metadata"]
            kind = f"{item['apiVersion']}/{item['kind']}"
            self.api.delete(kind, metadata["name"], metadata.get("namespace"))
        self.api.delete("v1/Namespace", self.namespace)


@pytest.fixture
def follow(syncer: Syncer, tmp_path: Path) -> Iterator[Callable[[str], Naive]]:
    """A repository of a design, followed in a namespace of its own."""
    made: list[Naive] = []

    def start(namespace: str) -> Naive:
        made.append(Naive(syncer, tmp_path, namespace))
        return made[-1]

    yield start
    for each in made:
        each.stop()


def test_a_fixed_name_with_a_time_to_live_trains_again_by_itself(
    follow: Callable[[str], Naive],
) -> None:
    naive = follow("naive-fixed")
    naive.declare(manifest("tune", naive.namespace, "train", ttlSecondsAfterFinished=2))
    naive.born("tune", 1)
    naive.finish("tune")
    naive.born("tune", 2)


@pytest.mark.parametrize("design", ["hash", "counter"])
def test_a_revert_trains_again_what_has_ended(follow: Callable[[str], Naive], design: str) -> None:
    """With a hash of the content, or a number of the declaration, in the name."""
    naive = follow(f"naive-{design}")
    commands = {1: "train", 2: "train-longer"}
    digests = {n: hashlib.sha256(text.encode()).hexdigest()[:8] for n, text in commands.items()}
    names = {n: f"tune-{digests[n] if design == 'hash' else n}" for n in commands}
    for number, command in commands.items():
        naive.declare(manifest(names[number], naive.namespace, command))
        naive.born(names[number], 1)
        naive.finish(names[number])
    naive.gone(names[1])
    naive.git("revert", "--no-edit", "HEAD")
    naive.push()
    naive.born(names[1], 2)
    naive.gone(names[2])
