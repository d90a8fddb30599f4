"""Runs ask for their accelerator's nodes by label, and tolerate those nodes' taints."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from compiler.project import Project
from compiler.repository import Repository

ROOT = Path(__file__).resolve().parents[2]
JOB = """\
team: {team}
cluster: {cluster}
image: {image}
{more}
max_duration: 4h
checkpoint: {{claim: checkpoints, path: /ckpt, every: 30m, keep: 3}}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for part in ("policy", "images", "base", "configs"):
        shutil.copytree(ROOT / part, tmp_path / part, symlinks=True)
    (tmp_path / "jobs").mkdir()
    return tmp_path


def pods(
    root: Path, team: str, cluster: str, more: str, image: str = "llm-sft"
) -> list[dict[str, Any]]:
    """The specs of the pod templates of a job."""
    path = root / "jobs/probe.yaml"
    text = JOB.format(team=team, cluster=cluster, more=more, image=image)
    path.write_text(text, "utf-8")
    result = Project(Repository(root)).judge(path)
    assert result.runs, result.findings
    spec = result.runs[0].objects[0]["spec"]
    kinds = spec.get("pytorchReplicaSpecs")
    templates = [spec["template"]] if kinds is None else [k["template"] for k in kinds.values()]
    return [template["spec"] for template in templates]


def required(pod: dict[str, Any]) -> dict[str, list[str]]:
    """The labels that a pod asks for by its affinity."""
    affinity = pod["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return {row["key"]: row["values"] for row in term["matchExpressions"]}


def tainted(root: Path, cluster: str, accelerator: str) -> None:
    path = root / f"policy/clusters/{cluster}.yaml"
    text, count = re.subn(
        rf"(?m)^  {accelerator}:\n",
        rf"  {accelerator}:\n    taints: [{{key: gpu, value: big, effect: NoSchedule}}]\n",
        path.read_text("utf-8"),
    )
    assert count == 1
    path.write_text(text, "utf-8")


@pytest.mark.parametrize(
    ("accelerators", "product"),
    [("H100:8", "NVIDIA-H100-80GB-HBM3"), ("A100-80GB:8", "NVIDIA-A100-SXM4-80GB")],
)
@pytest.mark.parametrize("nodes", [1, 2])
def test_two_accelerators_of_one_resource_in_one_queue_are_told_apart_by_the_run(
    root: Path, accelerators: str, product: str, nodes: int
) -> None:
    more = f"accelerators: {accelerators}\nnum_nodes: {nodes}\nqueue: research"
    found = pods(root, "vision", "west", more)
    assert len(found) == min(nodes, 2)
    for pod in found:
        assert required(pod) == {"nvidia.com/gpu.product": [product]}
        # A node selector is Kueue's: it adds the flavor's labels to it.
        assert "nodeSelector" not in pod


def test_runs_without_accelerators_stay_on_the_nodes_without_any(root: Path) -> None:
    more = "queue: data\ncpu: 4\nmemory: 8Gi\ncommand: [data-tools]"
    (pod,) = pods(root, "vision", "west", more, image="data-tools")
    assert required(pod) == {"node.example.com/pool": ["cpu"]}


def test_taints_are_tolerated_by_the_flavor_under_kueue_and_by_the_pods_elsewhere(
    root: Path,
) -> None:
    tainted(root, "west", "H100")
    tainted(root, "east", "MI300X")
    (queued,) = pods(root, "vision", "west", "accelerators: H100:8\nqueue: research")
    assert "tolerations" not in queued
    (held,) = pods(root, "vision", "east", "accelerators: MI300X:8")
    assert held["tolerations"] == [
        {"key": "gpu", "operator": "Equal", "value": "big", "effect": "NoSchedule"}
    ]
