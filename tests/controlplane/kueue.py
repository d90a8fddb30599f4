"""Kueue beside a stack, with its webhooks and the configuration that it is released with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from controlplane.api import Manifest, Refused
from controlplane.binaries import module
from controlplane.certificates import issue
from controlplane.installing import brought, fitted
from controlplane.processes import free_ports

if TYPE_CHECKING:
    from pathlib import Path

    from controlplane.stack import Stack

NAME = "kueue"
NAMESPACE = "kueue-system"
MODULE = "sigs.k8s.io/kueue"
SERVICE = "kueue-webhook-service"

VERSION = "kueue.x-k8s.io/v1beta2"
WORKLOAD = f"{VERSION}/Workload"

# The kinds that runs are made as.
FRAMEWORKS = ["batch/job", "kubeflow.org/pytorchjob"]


def configuration(certificate: Path, webhooks: int, health: int, metrics: int) -> dict[str, Any]:
    """Kueue's configuration as its release has it, for our kinds, on ports of our own."""
    released = (
        module(MODULE) / "config" / "components" / "manager" / "controller_manager_config.yaml"
    )
    changed: dict[str, Any] = yaml.safe_load(released.read_text(encoding="utf-8"))
    changed["health"] = {"healthProbeBindAddress": f"127.0.0.1:{health}"}
    changed["metrics"] = {"bindAddress": f"127.0.0.1:{metrics}"}
    changed["webhook"] = {"port": webhooks, "certDir": str(certificate)}
    changed["leaderElection"] = {"leaderElect": False}
    changed["integrations"] = {"frameworks": FRAMEWORKS}
    return changed


def objects(certificate: Path, webhooks: int) -> list[Manifest]:
    """What Kueue brings."""
    released = brought(module(MODULE) / "config" / "default")
    return fitted(released, SERVICE, webhooks, "kueue-webhook-server-cert", certificate)


def start(stack: Stack) -> None:
    """Install what Kueue brings, and start it; it is not yet ready."""
    webhooks, health, metrics = free_ports(3)
    certificate = stack.folder / "certificates" / NAME
    issue(certificate, "kueue-ca", [f"DNS:{SERVICE}.{NAMESPACE}.svc"])
    stack.api.create_all(objects(certificate, webhooks))
    config = stack.folder / "kueue.yaml"
    config.write_text(
        yaml.safe_dump(configuration(certificate, webhooks, health, metrics)), encoding="utf-8"
    )
    stack.processes.start(
        NAME,
        stack.command(
            NAME,
            f"--config={config}",
            # It would need an aggregated API, of which no part of ours asks anything.
            "--feature-gates=VisibilityOnDemand=false",
        ),
        env={
            "KUBECONFIG": str(stack.account(NAMESPACE, "kueue-controller-manager")),
            "TMPDIR": str(certificate),
        },
        cwd=stack.folder,
    )


def ready(stack: Stack) -> bool:
    """Whether Kueue's webhooks answer, without whom nothing of its kinds is taken."""
    flavor = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "probe"},
    }
    try:
        stack.api.create(flavor, dry_run=True)
    except Refused:
        return False
    return True
