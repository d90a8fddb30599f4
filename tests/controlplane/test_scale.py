"""Many runs of many teams on many nodes, from a merge to Pods that run; each stage is timed.

A few runs are there to tell at any time that the way of the five hundred is open.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from compiler.kustomize import find as kustomize
from controlplane.api import Api, Manifest, condition
from controlplane.configuration import CLUSTER, ROOT, TEAM, Configuration, distributed
from controlplane.fakenodes import FakeNodes
from controlplane.kueue import WORKLOAD
from controlplane.stack import Stack

NAME = "large"


class Size(NamedTuple):
    """So many teams with so many runs each, of so many nodes each, one accelerator on a node."""

    teams: int
    runs_each: int
    width: int

    @property
    def runs(self) -> int:
        return self.teams * self.runs_each

    @property
    def pods(self) -> int:
        return self.runs * self.width

    @property
    def nodes(self) -> int:
        """What all of the runs fill: a node has eight accelerators."""
        return self.pods // 8


SMALL = Size(teams=2, runs_each=2, width=8)
LARGE = Size(teams=20, runs_each=25, width=8)

PYTORCHJOB = "kubeflow.org/v1/PyTorchJob"
LABELS = {"nvidia.com/gpu.product": "H100"}
RACK = "example.com/rack"
HOST = "kubernetes.io/hostname"

# What is asked for by default, 20 requests a second, would itself take ten minutes for the Pods.
OPTIONS = {
    "training-operator": ("--kube-api-qps=400", "--kube-api-burst=800", "--controller-threads=8")
}


class Stages:
    """How long each stage took, told as it ends and all together at the end."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._since = time.monotonic()

    def ended(self, name: str, counted: str) -> None:
        now = time.monotonic()
        self.lines.append(f"{name:<34}{now - self._since:7.1f} s  {counted}")
        self._since = now


@pytest.fixture
def large(session_folder: Path) -> Iterator[Stack]:
    """A control plane of its own, so that nothing of another test is counted or waited for."""
    with Stack(session_folder / NAME, options=OPTIONS) as started:
        yield started


def team_names(size: Size) -> list[str]:
    return [f"team-{number:02}" for number in range(size.teams)]


def repository(folder: Path, size: Size) -> Configuration:
    """A configuration repository with the policy of the cluster and its teams, and no job yet."""
    teams = team_names(size)
    made = Configuration(folder, NAME, "", teams)
    policy = CLUSTER
    for text, instead in (
        ("nodes: 200", f"nodes: {size.nodes}"),
        ("flavor: h100", f"flavor: h100\n    node_labels: {LABELS}"),
    ):
        assert text in policy
        policy = policy.replace(text, instead)
    made.write(f"policy/clusters/{NAME}.yaml", f"{policy}topology: {{rack: {{label: {RACK}}}}}\n")
    for team in teams:
        text = TEAM.replace("NAME", team).replace("CLUSTER", NAME)
        guaranteed = f"guaranteed: {size.pods // size.teams}"
        made.write(f"policy/teams/{team}.yaml", text.replace("guaranteed: 48", guaranteed))
    made.change("Policy")
    for team in teams:
        for number in range(size.runs_each):
            text = distributed(num_nodes=size.width, accelerators="H100:1")
            made.write(f"jobs/{team}/train-{number:02}.yaml", text)
    return made


def bind(api: Api, pods: list[Manifest]) -> None:
    """Bind Pods to the nodes that Kueue has chosen for them, as the scheduler would."""

    def one(pod: Manifest) -> None:
        metadata = pod["metadata"]
        node = pod["spec"]["nodeSelector"][HOST]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        api.raw(
            "POST", api.path("v1/Pod", metadata["name"], metadata["namespace"], "binding"), binding
        )

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(one, pods))


def waiting(api: Api) -> list[Manifest]:
    """The Pods that have a node to go to and are not bound yet."""
    return [
        pod
        for pod in api.list("v1/Pod")
        if not pod["spec"].get("nodeName")
        and not pod["spec"].get("schedulingGates")
        and HOST in pod["spec"].get("nodeSelector", {})
    ]


@pytest.mark.parametrize(
    "size", [SMALL, pytest.param(LARGE, marks=pytest.mark.scale)], ids=["small", "large"]
)
def test_runs_that_fill_all_nodes_are_all_admitted_and_run(
    large: Stack,
    size: Size,
    session_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    api = large.api
    made = repository(tmp_path, size)
    with FakeNodes(large, session_folder / "large-kwok") as nodes:
        stages = Stages()
        labels = {**LABELS, RACK: "r1"}
        resources = {
            "cpu": "188",
            "memory": "1900Gi",
            "nvidia.com/gpu": "8",
            "pods": "110",
            "ephemeral-storage": "1Ti",
        }
        nodes.add(size.nodes, labels, resources)
        stages.ended("nodes ready", f"{size.nodes} nodes of kwok")

        commit = made.change("Runs")
        stages.ended("checked, compiled and published", f"{size.runs} runs, {commit[:7]}")

        overlays = made.mine / "overlays" / NAME
        program = kustomize(root=ROOT)
        folders = ["platform", *team_names(size)]
        built = {folder: program.build(overlays / folder) for folder in folders}
        stages.ended("built as a syncer does", f"{sum(map(len, built.values()))} objects")

        for folder in folders:
            api.apply_all(built[folder], manager="syncer")
        stages.ended("applied through all webhooks", f"{len(folders)} folders")

        def admitted() -> int:
            workloads = api.list(WORKLOAD)
            return sum(condition(each, "Admitted") == "True" for each in workloads)

        api.until(admitted, lambda count: count == size.runs, 900, "admission of every run")
        stages.ended("admitted by Kueue", f"{size.runs} workloads")

        def running() -> int:
            bind(api, waiting(api))
            return sum(pod["status"].get("phase") == "Running" for pod in api.list("v1/Pod"))

        api.until(running, lambda count: count == size.pods, 900, "Pods that run")
        jobs = api.list(PYTORCHJOB)
        assert sum(condition(each, "Running") == "True" for each in jobs) == size.runs
        stages.ended("Pods made, bound and running", f"{size.pods} Pods")

    held: dict[str, int] = {}
    for pod in api.list("v1/Pod"):
        node = pod["spec"]["nodeName"]
        held[node] = held.get(node, 0) + 1
    assert sum(held.values()) == size.pods
    assert max(held.values()) == 8, "more Pods on a node than it has accelerators"
    with capsys.disabled():
        print("", *stages.lines, sep="\n")
