"""Declarations of a test, built by the compiler and run by operator and test kubelet."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import yaml
from declarations import ROOT, TODAY, repository

from compiler.kustomize import find as kustomize
from compiler.project import Project
from compiler.repository import Repository
from compiler.results import RunResult
from controlplane.api import Manifest, condition, kind_of
from controlplane.kubelet.agent import Kubelet
from controlplane.stack import Stack

# Seconds. Far more than anything takes here, also where all cores are busy with something else.
LIMIT = 400
# The clusters differ in what they make of a run on one node. Nobody makes these runs wait.
CLUSTERS = {"batch": "job", "operated": "pytorchjob"}
CLUSTER = """\
versions: {{kubernetes: 1.34.4, training_operator: 1.9.4}}
backend: {{single_node: {single}, multi_node: pytorchjob}}
admission: ledger
currency: USD
accelerators:
  H100:
    resource: nvidia.com/gpu
    per_node: 8
    nodes: 20
    node: {{cpu: 188, memory: 1900Gi}}
    price: 2.95
    memory: 80Gi
    node_labels: {{nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}}
    per_accelerator: {{cpu: 2, memory: 20Gi, shm_size: 1Gi}}
    partial: true
priorities: {{low: 100, normal: 1000}}
claims:
  checkpoints: {{access: ReadWriteMany}}
registries:
  registry.example.com/training: {{}}
  registry.example.com/mirror: {{}}
network: {{interface: eth0}}
init_image: registry.example.com/mirror/alpine:3.22
"""
TEAM = """\
namespace: NAMESPACE
owners: [kim]
clusters: [batch, operated]
quota:
  batch: {H100: {guaranteed: 160}}
  operated: {H100: {guaranteed: 160}}
secrets: [token]
"""
JOB = """\
cluster: operated
image: ddp-mini
accelerators: H100:1
max_duration: 1h
retry: {max: 3}
stop: {grace: 30s}
checkpoint: {claim: checkpoints, path: /ckpt, every: 10m}
"""


def job(**fields: object) -> str:
    """A declaration, with fields replaced (None: left out)."""
    values: dict[str, object] = {**yaml.safe_load(JOB), **fields}
    return yaml.safe_dump({k: v for k, v in values.items() if v is not None}, sort_keys=False)


class Laboratory:
    """A namespace of a stack for the jobs of a team `lab`, and a kubelet that runs their pods.

    `jobs` are declarations by name, `files` other files of the repository.
    """

    def __init__(
        self,
        stack: Stack,
        folder: Path,
        jobs: Mapping[str, str],
        files: Mapping[str, str] | None = None,
    ) -> None:
        self.api = stack.api
        self.namespace = f"lab-{uuid.uuid4().hex[:8]}"
        policies = {
            f"policy/clusters/{name}.yaml": CLUSTER.format(single=single)
            for name, single in CLUSTERS.items()
        }
        self.root = repository(
            folder / "repository",
            {
                **policies,
                "policy/teams/lab.yaml": TEAM.replace("NAMESPACE", self.namespace),
                **{f"jobs/lab/{name}.yaml": text for name, text in jobs.items()},
                **(files or {}),
            },
            arguments=True,
        )
        self.tree = folder / "built"
        self.kubelet = Kubelet(
            self.api,
            logs=stack.folder / "pods",
            takes=lambda pod: pod["metadata"]["namespace"] == self.namespace,
        )

    def __enter__(self) -> Self:
        names = {"name": self.namespace}
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": names})
        self.api.until(lambda: self.api.get("v1/ServiceAccount", "default", self.namespace))
        self.kubelet.__enter__()
        return self

    def __exit__(self, *reason: object) -> None:
        self.kubelet.__exit__(*reason)
        self.api.delete("v1/Namespace", self.namespace)

    # --- what was declared -------------------------------------------------------------------

    @cached_property
    def objects(self) -> list[Manifest]:
        """All objects of the team, as kustomize builds them of what `build` has written."""
        command = [sys.executable, "-m", "compiler", "build", "--repo", str(self.root)]
        command += ["--at", TODAY.isoformat().replace("+00:00", "Z"), "-o", str(self.tree)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        found: list[Manifest] = []
        for cluster in CLUSTERS:
            folder = self.tree / "overlays" / cluster / "lab"
            if folder.is_dir():
                found += kustomize(root=ROOT).build(folder)
        return found

    def run(self, name: str) -> RunResult:
        """The run of a job, as the compiler judges its declaration."""
        result = Project(Repository(self.root), at=TODAY).judge(self.root / f"jobs/lab/{name}.yaml")
        (run,) = result.runs
        return run

    def job(self, name: str) -> Manifest:
        """The object of a job that the cluster runs."""
        (found,) = (
            each
            for each in self.objects
            if each["kind"] in ("Job", "PyTorchJob") and each["metadata"]["name"] == f"{name}-r1"
        )
        return found

    # --- what the cluster makes of it --------------------------------------------------------

    def start(self, name: str) -> None:
        """Apply a job, and all objects of the team that are no jobs."""
        others = [each for each in self.objects if each["kind"] not in ("Job", "PyTorchJob")]
        self.api.apply_all([*others, self.job(name)])

    def pods(self, name: str) -> list[Manifest]:
        """The pods of a job by their names, that is: the first node first."""
        label = "batch.kubernetes.io/job-name"
        if self.job(name)["kind"] == "PyTorchJob":
            label = "training.kubeflow.org/job-name"
        found = self.api.list("v1/Pod", self.namespace, f"{label}={name}-r1")
        return sorted(found, key=lambda pod: pod["metadata"]["name"])

    def all_pods(self, name: str, count: int, seconds: float = LIMIT) -> list[Manifest]:
        """The pods of a job once there are so many."""
        return self.api.until(
            lambda: self.pods(name), lambda found: len(found) == count, seconds, f"{count} pods"
        )

    def ended(self, name: str, how: str, seconds: float = LIMIT) -> Manifest:
        """The job once it has ended, which it must do so: `Succeeded` (Complete) or `Failed`."""
        kind = kind_of(self.job(name))
        words = {"Succeeded": ("Succeeded", "Complete"), "Failed": ("Failed",)}

        def over(found: Manifest) -> bool:
            met = [end for end in words for word in words[end] if condition(found, word) == "True"]
            assert met in ([], [how]), self.shown(name)
            return bool(met)

        try:
            return self.api.until(
                lambda: self.api.get(kind, f"{name}-r1", self.namespace), over, seconds, how
            )
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.shown(name)}") from None

    def delete(self, name: str) -> None:
        """Delete a job as a syncer's prune does, and all that belongs to it."""
        self.api.delete(kind_of(self.job(name)), f"{name}-r1", self.namespace)

    def log(self, pod: str, container: str | None = None) -> str:
        """All that the pods of a name have written."""
        return self.kubelet.logs(self.namespace, pod, container)

    def wrote(self, pod: str, text: str, seconds: float = LIMIT) -> str:
        """A pod's log once it has a text."""
        try:
            return self.api.until(
                lambda: self.log(pod), lambda log: text in log, seconds, f"`{text}` from {pod}"
            )
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log(pod)[-3000:]}") from None

    def checkpoints(self, name: str) -> Path:
        """The folder of the lineage's checkpoints, on the claim."""
        cluster = self.run(name).run.identity.cluster
        return self.kubelet.claim(self.namespace, "checkpoints") / cluster / "lab" / name / "r1"

    def shown(self, name: str) -> str:
        """How the pods of a job are, and the ends of their logs: for who looks for a fault."""
        parts: list[str] = []
        for pod in self.pods(name):
            called = pod["metadata"]["name"]
            status: Any = pod.get("status") or {}
            states = [one["state"] for one in status.get("containerStatuses", ())]
            parts += [f"--- {called}: {status.get('phase')} {states}", self.log(called)[-2500:]]
        return "\n".join(parts)
