"""Kubeflow's training operator beside a stack, with its webhooks."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from controlplane.api import Manifest, Refused
from controlplane.binaries import module
from controlplane.certificates import issue
from controlplane.installing import brought, fitted
from controlplane.processes import free_ports

if TYPE_CHECKING:
    from controlplane.stack import Stack

NAME = "training-operator"
NAMESPACE = "kubeflow"
MODULE = "github.com/kubeflow/training-operator"

# Where the operator looks for a certificate before it starts its webhooks: a constant of its
# (pkg/cert/cert.go). What they then serve is under the folder for temporary files instead.
LOOKED_FOR = "/tmp/k8s-webhook-server/serving-certs"
SERVED = "k8s-webhook-server/serving-certs"

# The other kinds' definitions cost the API server more than all the rest of a stack's start.
DEFINED = "pytorchjobs.kubeflow.org"


def objects(certificate: Path, webhooks: int) -> list[Manifest]:
    """What the operator brings, for PyTorchJobs alone."""
    released = [
        each
        for each in brought(module(MODULE) / "manifests" / "overlays" / "standalone")
        if each["kind"] != "CustomResourceDefinition" or each["metadata"]["name"] == DEFINED
    ]
    return fitted(released, NAME, webhooks, f"{NAME}-webhook-cert", certificate)


def start(stack: Stack) -> None:
    """Install what the operator brings, and start it; it is not yet ready."""
    health, webhooks = free_ports(2)
    temporary = stack.folder / "certificates" / NAME
    certificate = temporary / SERVED
    issue(certificate, f"{NAME}-ca", [f"DNS:{NAME}.{NAMESPACE}.svc"])
    looked_for = Path(LOOKED_FOR)
    looked_for.mkdir(parents=True, exist_ok=True)
    if not (looked_for / "tls.crt").exists():
        shutil.copy(certificate / "tls.crt", looked_for / "tls.crt")
    stack.api.create_all(objects(certificate, webhooks))
    stack.processes.start(
        NAME,
        stack.command(
            NAME,
            "--metrics-bind-address=0",
            f"--health-probe-bind-address=127.0.0.1:{health}",
            f"--webhook-server-port={webhooks}",
            "--enable-scheme=pytorchjob",
            "--zap-log-level=info",
        ),
        env={
            "KUBECONFIG": str(stack.account(NAMESPACE, NAME)),
            "TMPDIR": str(temporary),
        },
        cwd=stack.folder,
    )


def ready(stack: Stack) -> bool:
    """Whether the operator's webhook is what answers."""
    template = {"spec": {"containers": [{"name": "misnamed", "image": "none"}]}}
    wrong = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "probe", "namespace": "default"},
        "spec": {"pytorchReplicaSpecs": {"Master": {"template": template}}},
    }
    try:
        stack.api.create(wrong, dry_run=True)
    except Refused as error:
        return f"validator.pytorchjob.{NAME}" in error.message and "denied" in error.message
    return False
