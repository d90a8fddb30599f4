"""One control plane without containers: etcd, the API server, controllers, operator and Kueue.

Everything is a plain process on loopback. Nothing schedules or runs Pods: that is the part of the
test kubelet, or of kwok (`fakenodes`), where a test wants one.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import urllib3
import yaml

from controlplane import kueue, trainingoperator
from controlplane.api import Api, Refused
from controlplane.binaries import find
from controlplane.certificates import issue
from controlplane.processes import Processes, free_ports

# What a stack is made of beside etcd and the API server, in the order of its start.
PARTS = ("kube-controller-manager", "training-operator", "kueue")

# Seconds within which a part is ready. It takes ten; a machine on which everything is built and
# tested at once has taken over sixty.
PATIENCE = 180

# Of the controller manager's own; the others need nodes, schedule nothing of ours, or a cloud.
CONTROLLERS = (
    "namespace-controller",
    "garbage-collector-controller",
    "job-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",
    "persistentvolumeclaim-protection-controller",
    "ttl-after-finished-controller",
    "validatingadmissionpolicy-status-controller",
)


class Stack:
    """A control plane of its own, with all that it writes in one folder.

    `api` acts for an administrator. `kubeconfig` is a file for programs that talk to it. `folder`
    holds logs (`<part>.log`), certificates and the database. `options` are more arguments of a
    part. Several stacks may run at once.
    """

    def __init__(
        self,
        folder: Path,
        parts: Sequence[str] = PARTS,
        options: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.folder = folder
        self.parts = tuple(parts)
        self.options = dict(options or {})
        self.processes = Processes(folder)
        self.kubeconfig = folder / "kubeconfig"
        self._token = secrets.token_hex(16)
        self._database, self._peers, self.port = free_ports(3)
        self._authority = folder / "certificates" / "kube-apiserver"
        self.api = Api(f"https://127.0.0.1:{self.port}", self._token, self._authority / "ca.crt")

    # --- life ------------------------------------------------------------------------------

    def start(self) -> None:
        """Start everything and return once webhooks answer. Raises NotReady with a log's tail.

        What was started is ended again where anything fails, an interrupt included.
        """
        starts: dict[str, Callable[[], None]] = {
            "kube-controller-manager": self._controllers,
            "training-operator": lambda: trainingoperator.start(self),
            "kueue": lambda: kueue.start(self),
        }
        try:
            self._store()
            self._server()
            for part in self.parts:
                starts[part]()
            for part, ready in (
                ("training-operator", trainingoperator.ready),
                ("kueue", kueue.ready),
            ):
                if part in self.parts:
                    self.processes.wait(part, lambda ready=ready: ready(self), PATIENCE)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Kill all of its processes at once; may be called twice, and after a start that failed.

        Their logs then end with what they did last, not with complaints about each other.
        """
        self.processes.stop(seconds=0)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # --- users -----------------------------------------------------------------------------

    def kubeconfig_of(self, user: str, groups: Sequence[str] = ()) -> Path:
        """A kubeconfig for a program that acts for a user, who may do what RBAC grants."""
        path = self.folder / f"kubeconfig.{user.replace(':', '.')}"
        self._kubeconfig(path, {"as": user, "as-groups": list(groups)})
        return path

    def account(self, namespace: str, name: str) -> Path:
        """A kubeconfig for a program that acts for a ServiceAccount."""
        return self.kubeconfig_of(
            f"system:serviceaccount:{namespace}:{name}",
            [
                "system:serviceaccounts",
                f"system:serviceaccounts:{namespace}",
                "system:authenticated",
            ],
        )

    def _kubeconfig(self, path: Path, user: Mapping[str, Any]) -> None:
        server = {
            "server": self.api.server,
            "certificate-authority": str((self._authority / "ca.crt").resolve()),
        }
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "stack", "cluster": server}],
            "users": [{"name": "stack", "user": {"token": self._token, **user}}],
            "contexts": [{"name": "stack", "context": {"cluster": "stack", "user": "stack"}}],
            "current-context": "stack",
        }
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        path.chmod(0o600)

    # --- parts -----------------------------------------------------------------------------

    def command(self, part: str, *words: str | Path) -> list[str | Path]:
        """The command line of a part, with what `options` adds to it."""
        return [find(part), *words, *self.options.get(part, ())]

    def _store(self) -> None:
        clients = f"http://127.0.0.1:{self._database}"
        peers = f"http://127.0.0.1:{self._peers}"
        self.processes.start(
            "etcd",
            self.command(
                "etcd",
                f"--data-dir={self.folder / 'etcd'}",
                f"--listen-client-urls={clients}",
                f"--advertise-client-urls={clients}",
                f"--listen-peer-urls={peers}",
                f"--initial-advertise-peer-urls={peers}",
                f"--initial-cluster=default={peers}",
                "--unsafe-no-fsync",
                "--log-level=warn",
            ),
            ready=f"{clients}/readyz",
        )

    def _server(self) -> None:
        """Start the API server, which knows one user by token; others are acted for."""
        names = ["DNS:kubernetes.default.svc", "DNS:localhost", "IP:127.0.0.1"]
        issue(self._authority, "kube-apiserver-ca", names)
        tokens = self.folder / "tokens.csv"
        tokens.write_text(f"{self._token},admin,admin,system:masters\n", encoding="utf-8")
        tokens.chmod(0o600)
        self._kubeconfig(self.kubeconfig, {})
        key = self._authority / "tls.key"
        self.processes.start(
            "kube-apiserver",
            self.command(
                "kube-apiserver",
                f"--etcd-servers=http://127.0.0.1:{self._database}",
                "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1",
                f"--secure-port={self.port}",
                f"--tls-cert-file={self._authority / 'tls.crt'}",
                f"--tls-private-key-file={key}",
                f"--cert-dir={self._authority}",
                # Loopback addresses: a Service is reached without a proxy. See `installing`.
                f"--service-cluster-ip-range={self.services}",
                # The address of the server itself is none that an Endpoints object may have.
                "--endpoint-reconciler-type=none",
                f"--token-auth-file={tokens}",
                "--authorization-mode=RBAC",
                f"--service-account-key-file={key}",
                f"--service-account-signing-key-file={key}",
                "--service-account-issuer=https://kubernetes.default.svc",
                "--allow-privileged=true",
            ),
            ready=self._serves,
            seconds=PATIENCE,
        )

    @property
    def services(self) -> str:
        """The range of the addresses of Services, another one for each stack."""
        return f"127.{100 + self.port // 256 % 100}.{self.port % 256}.0/24"

    def _serves(self) -> bool:
        try:
            self.api.raw("GET", "/readyz", seconds=2)
            self.api.get("v1/Namespace", "default")
        except (urllib3.exceptions.HTTPError, Refused):
            return False
        return True

    def _controllers(self) -> None:
        user = self.kubeconfig_of("system:kube-controller-manager", ["system:authenticated"])
        self.processes.start(
            "kube-controller-manager",
            self.command(
                "kube-controller-manager",
                f"--kubeconfig={user}",
                f"--authentication-kubeconfig={user}",
                f"--authorization-kubeconfig={user}",
                f"--controllers={','.join(CONTROLLERS)}",
                f"--root-ca-file={self._authority / 'ca.crt'}",
                f"--service-account-private-key-file={self._authority / 'tls.key'}",
                "--use-service-account-credentials=true",
                "--leader-elect=false",
                "--secure-port=0",
                "--concurrent-job-syncs=20",
            ),
        )
