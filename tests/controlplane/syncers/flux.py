"""Flux: source-controller and kustomize-controller as plain processes."""

from __future__ import annotations

import time
from datetime import datetime

import yaml

from controlplane.api import Manifest, condition
from controlplane.binaries import find, module
from controlplane.processes import free_port
from controlplane.syncers.syncer import Syncer

SOURCE = "source.toolkit.fluxcd.io/v1/GitRepository"
MODULES = ("github.com/fluxcd/source-controller", "github.com/fluxcd/kustomize-controller")


class Flux(Syncer):
    """It acts as the accounts of `sync/access`: its own may do everything, but is not used."""

    name, cluster, page = "flux", "east", "docs/install-flux.md"
    kind, namespace = "kustomize.toolkit.fluxcd.io/v1/Kustomization", "flux-system"

    def start(self) -> None:
        definitions = [
            item
            for each in MODULES
            for path in sorted((module(each) / "config/crd/bases").glob("*.yaml"))
            for item in yaml.safe_load_all(path.read_text("utf-8"))
        ]
        home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
        self.api.apply_all([home, *definitions])
        environment = {
            "KUBECONFIG": str(self.kubeconfig),
            "RUNTIME_NAMESPACE": self.namespace,
            "HOME": str(self.folder),
        }
        storage = f"127.0.0.1:{free_port()}"
        particular = {
            "source-controller": [
                f"--storage-path={self.folder / 'artifacts'}",
                f"--storage-addr={storage}",
                f"--storage-adv-addr={storage}",
            ],
            # Half a minute between two looks at what a Kustomization depends on is the default.
            "kustomize-controller": [
                "--requeue-dependency=2s",
                # All teams at once: by default four, with 50 requests a second among them.
                "--concurrent=10",
                "--kube-api-qps=1000",
                "--kube-api-burst=2000",
            ],
        }
        (self.folder / "artifacts").mkdir()
        for name, flags in particular.items():
            health = f"127.0.0.1:{free_port()}"
            common = [f"--health-addr={health}", "--metrics-addr=0", "--watch-all-namespaces=true"]
            words = [str(find(name)), *common, *flags]
            self.processes.start(name, words, environment, ready=f"http://{health}/readyz")

    def look(self) -> None:
        self._request(SOURCE)

    def look_at_all(self) -> None:
        """Let the intervals of the Kustomizations be over."""
        self._request(self.kind)

    def _request(self, kind: str) -> None:
        mark = {"reconcile.fluxcd.io/requestedAt": str(time.time_ns())}
        for item in self.api.list(kind):
            metadata = item["metadata"]
            patch = {"metadata": {"annotations": mark}}
            self.api.patch(kind, metadata["name"], metadata["namespace"], patch)

    def name_of(self, folder: str) -> str:
        return f"runwright-{folder}"

    def again(self, folder: str) -> None:
        self.look_at_all()

    def acted(self, follower: Manifest, commit: str, since: datetime) -> bool:
        status = follower.get("status", {})
        return (
            str(status.get("lastAttemptedRevision")).endswith(commit)
            and status.get("observedGeneration") == follower["metadata"]["generation"]
            and condition(follower, "Ready") in ("True", "False")
        )

    def complaint(self, folder: str) -> str | None:
        conditions = self.follower(folder)["status"]["conditions"]
        ready = next(item for item in conditions if item["type"] == "Ready")
        return None if ready["status"] == "True" else str(ready["message"])

    def plain(self, name: str, url: str, path: str) -> list[Manifest]:
        metadata = {"name": name, "namespace": self.namespace}
        source, version, _ = SOURCE.rpartition("/")[0].partition("/v1")
        return [
            {
                "apiVersion": f"{source}{version}",
                "kind": "GitRepository",
                "metadata": metadata,
                "spec": {"interval": "2s", "url": url, "ref": {"branch": "main"}},
            },
            {
                "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
                "kind": "Kustomization",
                "metadata": metadata,
                "spec": {
                    "interval": "2s",
                    "path": path,
                    "prune": True,
                    "sourceRef": {"kind": "GitRepository", "name": name},
                },
            },
        ]
