"""Nodes that pretend to run Pods, in the hundreds: kwok beside a stack."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Self

import yaml

from compiler.kustomize import find as kustomize
from controlplane.api import Manifest, condition
from controlplane.binaries import find, module
from controlplane.installing import ROOT
from controlplane.processes import Processes, free_port

if TYPE_CHECKING:
    from controlplane.stack import Stack

MODULE = "sigs.k8s.io/kwok"

# Who pretends here; nodes of the test kubelet have no such annotation.
ANNOTATION = "kwok.x-k8s.io/node"

# kwok lets the Pod of a batch Job succeed at once. Training takes longer: here it goes on.
LEFT_OUT = ("pod-complete",)


class FakeNodes:
    """kwok, started with the first nodes; a Pod bound to one of its nodes runs until deleted."""

    def __init__(self, stack: Stack, folder: Path) -> None:
        self.stack = stack
        self.folder = folder
        self.names: list[str] = []
        self._processes = Processes(folder)

    def add(
        self,
        count: int,
        labels: Mapping[str, str],
        resources: Mapping[str, str],
        prefix: str = "fake",
        seconds: float = 120,
    ) -> list[str]:
        """The names of new nodes, once they are ready.

        `resources` are what each has and may give out. A node's name is its hostname label too.
        """
        if not self._processes.alive("kwok"):
            self._start()
        first = len(self.names)
        names = [f"{prefix}-{number:04}" for number in range(first, first + count)]
        self.names += names
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda name: self._create(name, labels, resources), names))
        self.stack.api.until(
            self._ready,
            lambda ready: ready >= set(names),
            seconds,
            f"{count} ready nodes",
        )
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(self._open, names))
        return names

    def stop(self) -> None:
        """End kwok and take its nodes away."""
        self._processes.stop()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda name: self.stack.api.delete("v1/Node", name), self.names))
        self.names.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _ready(self) -> set[str]:
        nodes = self.stack.api.list("v1/Node")
        return {each["metadata"]["name"] for each in nodes if condition(each, "Ready") == "True"}

    def _create(self, name: str, labels: Mapping[str, str], resources: Mapping[str, str]) -> None:
        node: Manifest = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "annotations": {ANNOTATION: "fake"},
                "labels": {"kubernetes.io/hostname": name, **labels},
            },
            "status": {"capacity": dict(resources), "allocatable": dict(resources)},
        }
        self.stack.api.create(node)

    def _open(self, name: str) -> None:
        """Let Pods onto a node: the API server taints each new one, and no controller of a stack
        takes that away once the node is ready."""
        self.stack.api.patch("v1/Node", name, None, {"spec": {"taints": None}})

    def _start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        stages = kustomize(root=ROOT).build(module(MODULE) / "kustomize" / "stage" / "fast")
        wanted = [each for each in stages if each["metadata"]["name"] not in LEFT_OUT]
        config = self.folder / "stages.yaml"
        config.write_text(yaml.safe_dump_all(wanted), encoding="utf-8")
        address = f"127.0.0.1:{free_port()}"
        self._processes.start(
            "kwok",
            [
                find("kwok"),
                f"--kubeconfig={self.stack.kubeconfig}",
                f"--config={config}",
                "--manage-all-nodes=false",
                f"--manage-nodes-with-annotation-selector={ANNOTATION}=fake",
                f"--server-address={address}",
                "--node-lease-duration-seconds=200",
            ],
            ready=f"http://{address}/healthz",
            cwd=self.folder,
        )
