"""What a controller brings to a cluster, from its own module, fitted to a plain process.

Nothing proxies Services here. Their addresses are loopback ones, so a webhook's Service whose port
is the port that the process listens on is reached directly, under its own name.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from compiler.kustomize import find
from controlplane.api import Manifest

ROOT = Path(__file__).resolve().parents[2]
KNOWN = ROOT / ".cache" / "controlplane"

# What needs a kubelet or an aggregated API server.
LEFT_OUT = ("Deployment", "APIService")


def brought(folder: Path) -> list[Manifest]:
    """The objects of a kustomization in a Go module, without those that nothing here would serve.

    Kustomize and the parser take seconds for the large definitions, and a module's folder has its
    version in its name and never changes, so what was made of it once is kept.
    """
    kustomize = find(root=ROOT)
    key = hashlib.sha256(f"{folder} {kustomize.name}".encode()).hexdigest()[:16]
    known = KNOWN / f"{key}.json"
    if not known.exists():
        objects = [each for each in kustomize.build(folder) if each["kind"] not in LEFT_OUT]
        KNOWN.mkdir(parents=True, exist_ok=True)
        half = known.with_suffix(f".{os.getpid()}")
        half.write_text(json.dumps(objects), encoding="utf-8")
        half.replace(known)
    kept: list[Manifest] = json.loads(known.read_text(encoding="utf-8"))
    return kept


def fitted(
    objects: Iterable[Manifest], service: str, port: int, secret: str, certificate: Path
) -> list[Manifest]:
    """The objects with every webhook of `service` at `port` of the process itself.

    The Secret `secret` gets the four files of the certificate's folder, and whoever calls the
    webhooks its authority. The controller then finds nothing to issue, and to write, itself.
    """
    pem = {
        name: base64.b64encode((certificate / name).read_bytes()).decode()
        for name in ("ca.crt", "ca.key", "tls.crt", "tls.key")
    }
    changed = list(objects)
    for each in changed:
        name = each["metadata"]["name"]
        if each["kind"] == "Service" and name == service:
            each["spec"] = {"ports": [{"name": "webhook", "port": port}]}
        if each["kind"] == "Secret" and name == secret:
            each["data"] = pem
        for client in _callers(each):
            client["caBundle"] = pem["ca.crt"]
            client["service"]["port"] = port
    return changed


def _callers(manifest: Manifest) -> Iterator[dict[str, Any]]:
    """How each webhook of a configuration, or of a definition's versions, is called."""
    for webhook in manifest.get("webhooks", ()):
        yield webhook["clientConfig"]
    if manifest["kind"] == "CustomResourceDefinition":
        conversion = manifest["spec"].get("conversion", {}).get("webhook")
        if conversion:
            yield conversion["clientConfig"]
