"""Argo CD: Redis, repo-server and application-controller as plain processes."""

from __future__ import annotations

import socket
from datetime import datetime, timedelta

import yaml

from controlplane.api import Manifest
from controlplane.binaries import find, module
from controlplane.processes import free_port
from controlplane.syncers.syncer import Syncer

MODULE = "github.com/argoproj/argo-cd/v3"
RESYNC = timedelta(seconds=5)
# What is over, well or not; `Running` is also what waits for its next try.
OVER = ("Succeeded", "Failed", "Error")


class ArgoCd(Syncer):
    """It acts as the accounts of `sync/access`, where its page's words about rights were run."""

    name, cluster, page = "argo_cd", "west", "docs/install-argocd.md"
    kind, namespace = "argoproj.io/v1alpha1/Application", "argocd"

    def start(self) -> None:
        manifests = module(MODULE) / "manifests"
        read = [*sorted((manifests / "crds").glob("*-crd.yaml"))]
        read += [manifests / f"base/config/argocd-{name}.yaml" for name in ("cm", "rbac-cm")]
        home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
        label = {"app.kubernetes.io/part-of": "argocd"}
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "argocd-secret", "namespace": self.namespace, "labels": label},
            "stringData": {"server.secretkey": "of-tests-alone"},
        }
        found = [item for path in read for item in yaml.safe_load_all(path.read_text("utf-8"))]
        for item in found:
            if item["kind"] == "ConfigMap":
                item["metadata"]["namespace"] = self.namespace
        self.api.apply_all([home, *found, secret])
        self._processes()

    def _processes(self) -> None:
        redis, repo = free_port(), free_port()
        # Git, kustomize and nothing else: as its image has them.
        tools = self.folder / "bin"
        tools.mkdir()
        (tools / "kustomize").symlink_to(find("kustomize"))
        environment = {
            "KUBECONFIG": str(self.kubeconfig),
            "ARGOCD_FAKE_IN_CLUSTER": "true",
            "ARGOCD_GPG_ENABLED": "false",
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "PATH": f"{tools}:/usr/bin:/bin",
        }
        words = [str(find("redis-server")), "--port", str(redis), "--bind", "127.0.0.1"]
        self.processes.start(
            "redis",
            [*words, "--save", "", "--appendonly", "no"],
            cwd=self.folder,
            ready=lambda: listens(redis),
        )
        metrics = free_port()
        self._start(
            "argocd-repo-server",
            [
                "--disable-tls",
                "--address=127.0.0.1",
                f"--port={repo}",
                "--metrics-address=127.0.0.1",
                f"--metrics-port={metrics}",
                f"--redis=127.0.0.1:{redis}",
                # Three minutes is the default; a webhook would make it forget at once.
                "--revision-cache-expiration=1s",
            ],
            environment,
            f"http://127.0.0.1:{metrics}/healthz",
        )
        metrics = free_port()
        self._start(
            "argocd-application-controller",
            [
                f"--repo-server=127.0.0.1:{repo}",
                "--repo-server-plaintext",
                f"--redis=127.0.0.1:{redis}",
                f"--metrics-port={metrics}",
                # Two minutes, and up to one more, are the defaults.
                f"--app-resync={RESYNC.seconds}",
                "--app-resync-jitter=0",
            ],
            environment,
            f"http://127.0.0.1:{metrics}/healthz",
        )

    def _start(self, name: str, flags: list[str], environment: dict[str, str], ready: str) -> None:
        words = [str(find("argocd")), *flags, "--logformat=text"]
        whole = {**environment, "ARGOCD_BINARY_NAME": name}
        self.processes.start(name, words, whole, ready=ready)

    def look(self) -> None:
        """Nothing: it looks every few seconds."""

    def look_at_all(self) -> None:
        """Nothing: each look compares everything."""

    def name_of(self, folder: str) -> str:
        return f"runwright.{self.cluster}.{folder}"

    def again(self, folder: str) -> None:
        sync = {"sync": {"prune": True, "syncStrategy": {"hook": {}}}}
        self.api.patch(self.kind, self.name_of(folder), self.namespace, {"operation": sync})

    def acted(self, follower: Manifest, commit: str, since: datetime) -> bool:
        status = follower.get("status", {})
        if status.get("sync", {}).get("revision") != commit or "operation" in follower:
            return False
        done = status.get("operationState", {})
        over = done.get("phase") in OVER
        if done.get("syncResult", {}).get("revision") == commit:
            return over or bool(done.get("retryCount"))
        # What was as it should be from the start has never been synced.
        return _synced(follower) and (over or "phase" not in done)

    def complaint(self, folder: str) -> str | None:
        follower = self.api.until(lambda: self.follower(folder), _told, 30, f"word on {folder}")
        if _synced(follower):
            return None
        done = follower["status"].get("operationState", {})
        results = done.get("syncResult", {}).get("resources") or []
        said = [
            f"{item['kind']}/{item['name']}: {item['message']}"
            for item in results
            if item.get("status") == "SyncFailed"
        ]
        return "; ".join([str(done.get("message")), *said])

    def plain(self, name: str, url: str, path: str) -> list[Manifest]:
        project = {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "AppProject",
            "metadata": {"name": "default", "namespace": self.namespace},
            "spec": {
                "sourceRepos": ["*"],
                "destinations": [{"server": "*", "namespace": "*"}],
                "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
                # Where accounts are impersonated, this one: it may do everything.
                "destinationServiceAccounts": [
                    {"server": "*", "namespace": "*", "defaultServiceAccount": "argocd:everything"}
                ],
            },
        }
        everything = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "argocd-everything"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "cluster-admin",
            },
            "subjects": [
                {"kind": "ServiceAccount", "name": "everything", "namespace": self.namespace}
            ],
        }
        here = {"server": "https://kubernetes.default.svc", "namespace": name}
        application = {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Application",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {
                "project": "default",
                "source": {"repoURL": url, "targetRevision": "main", "path": path},
                "destination": here,
                "syncPolicy": {"automated": {"prune": True, "selfHeal": True}},
            },
        }
        return [everything, project, application]


def listens(port: int) -> bool:
    """Whether something listens on a port of loopback."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _told(follower: Manifest) -> bool:
    """Whether it is as it should be or something failed: right after a sync it is neither."""
    phase = follower["status"].get("operationState", {}).get("phase")
    return _synced(follower) or phase != "Succeeded"


def _synced(follower: Manifest) -> bool:
    return bool(follower["status"]["sync"]["status"] == "Synced")
