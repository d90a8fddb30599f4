"""Two runs that do not fit together: the second starts once the first has ended.

Under Kueue both are on the cluster and the second waits there; with `admission: ledger` publish
holds it back until an observation says that the first has ended.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.api import Manifest, condition
from controlplane.configuration import CLUSTER, Configuration, distributed, job
from controlplane.following import ended
from controlplane.kueue import WORKLOAD
from controlplane.stack import Stack

NAME, TEAM = "hand", "nlp"
NAMESPACE = f"p-{TEAM}"
PODS = {
    "batch/v1/Job": "batch.kubernetes.io/job-name",
    "kubeflow.org/v1/PyTorchJob": "training.kubeflow.org/job-name",
}
# The team's 48 accelerators, and some of them again, as each kind of object.
FIRST, SECOND = distributed(num_nodes=6), job(accelerators="H100:8")


class ByHand:
    """A cluster to which people apply what publish wrote, and delete what it lists no more."""

    def __init__(self, stack: Stack, folder: Path, admission: str) -> None:
        self.api, self.stack, self.folder = stack.api, stack, folder
        self.configuration = Configuration(folder, NAME, "", [TEAM])
        policy = CLUSTER.replace("admission: kueue", f"admission: {admission}")
        self.configuration.write(f"policy/clusters/{NAME}.yaml", policy)
        self.change()

    def change(self, message: str = "Change", *observed: Path) -> None:
        """Publish what is in the clone, where something is, and apply it."""
        if self.configuration.git("status", "--porcelain"):
            self.configuration.push(message)
        self.configuration.publish(*observed)
        overlays = self.configuration.mine / "overlays" / NAME
        for folder in sorted(path.name for path in overlays.iterdir()):
            self.api.apply_all(self.configuration.objects(folder))

    def observe(self) -> Path:
        """What the archive workflow sees of the cluster."""
        whole: dict[str, Any] = yaml.safe_load(self.stack.kubeconfig.read_text("utf-8"))
        whole["contexts"][0]["name"] = whole["current-context"] = NAME
        path = self.folder / "kubeconfig"
        path.write_text(yaml.safe_dump(whole), "utf-8")
        path.chmod(0o600)
        return self.configuration.observe(path)

    def runs(self) -> dict[str, Manifest]:
        """The objects of runs by name."""
        found = [item for kind in PODS for item in self.api.list(kind, NAMESPACE)]
        return {item["metadata"]["name"]: item for item in found}

    def pods(self, run: str) -> list[Manifest]:
        """The pods of a run."""
        return [
            pod
            for label in PODS.values()
            for pod in self.api.list("v1/Pod", NAMESPACE, f"{label}={run}")
        ]

    def started(self, run: str, nodes: int) -> None:
        """Wait until the operator has made a run's pods."""
        self.api.until(lambda: len(self.pods(run)), lambda n: n == nodes, 120, f"pods of {run}")

    def succeed(self, run: str) -> None:
        """Let all pods of a run succeed, and wait until it has."""
        for pod in self.pods(run):
            status = {"status": ended(pod, "Succeeded", 0)}
            self.api.patch(
                "v1/Pod", pod["metadata"]["name"], NAMESPACE, status, subresource="status"
            )
        self.api.until(
            lambda: self.runs()[run],
            lambda it: "True" in (condition(it, "Succeeded"), condition(it, "Complete")),
            120,
            f"end of {run}",
        )

    def stop(self) -> None:
        """Leave nothing on the cluster."""
        for kind in PODS:
            self.api.delete_all(kind, NAMESPACE)
        overlays = self.configuration.mine / "overlays" / NAME
        made = [o for p in overlays.iterdir() for o in self.configuration.objects(p.name)]
        for item in reversed(made):
            metadata = item["metadata"]
            kind = f"{item['apiVersion']}/{item['kind']}"
            self.api.delete(kind, metadata["name"], metadata.get("namespace"))
        self.api.gone("v1/Namespace", NAMESPACE, seconds=120)


@pytest.fixture
def cluster(stack: Stack, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ByHand]:
    made = ByHand(stack, tmp_path, request.param)
    yield made
    made.stop()


@pytest.mark.parametrize("cluster", ["kueue"], indirect=True)
def test_kueue_lets_the_second_wait_until_the_first_has_ended(cluster: ByHand) -> None:
    configuration = cluster.configuration
    configuration.write(f"jobs/{TEAM}/first.yaml", FIRST)
    cluster.change()
    cluster.started("first-r1", 6)
    configuration.write(f"jobs/{TEAM}/second.yaml", SECOND)
    plan = configuration.propose("Second")
    assert "WAIT" in plan.upper()
    configuration.merge()
    cluster.change()
    assert sorted(cluster.runs()) == ["first-r1", "second-r1"]
    (waiting,) = cluster.api.until(
        lambda: [
            item
            for item in cluster.api.list(WORKLOAD, NAMESPACE)
            if condition(item, "QuotaReserved") == "False"
        ],
        lambda found: len(found) == 1,
        60,
        "a workload without quota",
    )
    assert waiting["metadata"]["ownerReferences"][0]["name"] == "second-r1"
    time.sleep(3)
    assert not cluster.pods("second-r1")
    cluster.succeed("first-r1")
    cluster.started("second-r1", 1)


@pytest.mark.parametrize("cluster", ["ledger"], indirect=True)
def test_publish_holds_the_second_until_the_first_is_seen_to_have_ended(cluster: ByHand) -> None:
    configuration = cluster.configuration
    configuration.write(f"jobs/{TEAM}/first.yaml", FIRST)
    cluster.change()
    cluster.started("first-r1", 6)
    configuration.write(f"jobs/{TEAM}/second.yaml", SECOND)
    plan = configuration.propose("Second")
    assert "HOLD" in plan.upper()
    configuration.merge()
    cluster.change()
    assert sorted(cluster.runs()) == ["first-r1"]
    # While the first is seen to run, looking changes nothing.
    cluster.change("", cluster.observe())
    assert sorted(cluster.runs()) == ["first-r1"]
    cluster.succeed("first-r1")
    cluster.change("", cluster.observe())
    cluster.started("second-r1", 1)
    assert configuration.states(TEAM, "first") == ["first-r1 ended"]
    assert configuration.states(TEAM, "second") == ["second-r1 active"]
