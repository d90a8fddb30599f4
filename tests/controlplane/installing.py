"""What a controller brings to a cluster, from its own module, fitted to a plain process.

Nothing proxies Services here. Their addresses are loopback ones, so a webhook's Service whose port
is the port that the process listens on is reached directly, under its own name.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path

from compiler.kustomize import find
from controlplane.api import Manifest

ROOT = Path(__file__).resolve().parents[2]

# What needs a kubelet or an aggregated API server.
LEFT_OUT = ("Deployment", "APIService")


def brought(folder: Path) -> list[Manifest]:
    """The objects of a kustomization, without those that nothing here would serve."""
    return [each for each in find(root=ROOT).build(folder) if each["kind"] not in LEFT_OUT]


def fitted(objects: Iterable[Manifest], service: str, port: int) -> list[Manifest]:
    """The objects with every webhook of `service` at `port` of the process itself."""
    changed = list(objects)
    for each in changed:
        if each["kind"] == "Service" and each["metadata"]["name"] == service:
            each["spec"] = {"ports": [{"name": "webhook", "port": port}]}
        clients = [webhook["clientConfig"] for webhook in each.get("webhooks", ())]
        if each["kind"] == "CustomResourceDefinition":
            conversion = each["spec"].get("conversion", {}).get("webhook", {})
            clients += [conversion["clientConfig"]] if conversion else []
        for client in clients:
            client["service"]["port"] = port
    return changed


def with_certificate(objects: Iterable[Manifest], secret: str, certificate: Path) -> list[Manifest]:
    """The objects with the Secret `secret` holding the four files of a certificate's folder."""
    changed = list(objects)
    for each in changed:
        if each["kind"] == "Secret" and each["metadata"]["name"] == secret:
            each["data"] = {
                name: base64.b64encode((certificate / name).read_bytes()).decode()
                for name in ("ca.crt", "ca.key", "tls.crt", "tls.key")
            }
    return changed
