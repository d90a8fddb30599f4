"""A cluster without a syncer: people apply what publish wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from controlplane.api import Manifest, condition
from controlplane.configuration import CLUSTER, Configuration
from controlplane.following import RUNS, ended, pods_of
from controlplane.stack import Stack

NAME, TEAM = "hand", "nlp"
NAMESPACE = f"p-{TEAM}"


class ByHand:
    """A cluster to which people apply what publish wrote, and delete what it lists no more."""

    def __init__(self, stack: Stack, folder: Path, admission: str) -> None:
        self.api, self.stack, self.folder = stack.api, stack, folder
        self.configuration = Configuration(folder, NAME, "", [TEAM])
        policy = CLUSTER.replace("admission: kueue", f"admission: {admission}")
        # A flavor of its own: one that had a topology, as other tests' has, may never lose it.
        self.policy = policy.replace("flavor: h100", "flavor: by-hand")
        self.write(self.policy)
        self.change()

    def write(self, policy: str) -> None:
        """Write what policy says of the cluster."""
        self.configuration.write(f"policy/clusters/{NAME}.yaml", policy)

    def change(self, message: str = "Change", *observed: Path) -> None:
        """Publish what is in the clone, where something is, and apply it."""
        if self.configuration.git("status", "--porcelain"):
            self.configuration.push(message)
        self.configuration.publish(*observed)
        for folder in self.folders():
            self.api.apply_all(self.configuration.objects(folder), manager="syncer")

    def folders(self) -> list[str]:
        """The folders that are applied, that with the namespaces first."""
        overlays = self.configuration.mine / "overlays" / NAME
        names = {path.parent.name for path in overlays.glob("*/kustomization.yaml")}
        return ["platform", *sorted(names - {"platform", "sync"})]

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
        found = [item for kind in RUNS for item in self.api.list(kind, NAMESPACE)]
        return {item["metadata"]["name"]: item for item in found}

    def pods(self, run: str) -> list[Manifest]:
        """The pods of a run."""
        return pods_of(self.api, NAMESPACE, run)

    def started(self, run: str, nodes: int) -> None:
        """Wait until the operator has made a run's pods."""
        self.api.until(lambda: len(self.pods(run)), lambda n: n == nodes, 120, f"pods of {run}")

    def succeed(self, run: str) -> None:
        """Let all pods of a run succeed, and wait until it has."""
        # The first node last: with its end the operator takes all others away.
        for pod in sorted(self.pods(run), key=lambda pod: pod["metadata"]["name"], reverse=True):
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
        for kind in RUNS:
            self.api.delete_all(kind, NAMESPACE)
        made = [each for name in self.folders() for each in self.configuration.objects(name)]
        for item in reversed(made):
            metadata = item["metadata"]
            kind = f"{item['apiVersion']}/{item['kind']}"
            self.api.delete(kind, metadata["name"], metadata.get("namespace"))
        self.api.gone("v1/Namespace", NAMESPACE, seconds=120)
