"""One control plane without containers: etcd, the API server, controllers, operator and Kueue.

Everything is a plain process on loopback. Nothing schedules or runs Pods: that is the part of the
test kubelet, or of kwok (`Kwok`), where a test wants one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from controlplane.api import Api

# What a stack is made of beside etcd and the API server, in the order of its start.
PARTS = ("kube-controller-manager", "training-operator", "kueue")


class Stack:
    """A control plane of its own, with all that it writes in one folder.

    `api` acts for an administrator. `kubeconfig` is a file for programs that talk to it. `folder`
    holds logs (`<part>.log`), certificates and the database.
    """

    api: Api
    kubeconfig: Path
    folder: Path

    def __init__(self, folder: Path, parts: Sequence[str] = PARTS) -> None:
        self.folder = folder
        self.parts = tuple(parts)

    def start(self) -> None:
        """Start everything and return once webhooks answer. Raises NotReady with a log's tail."""
        raise NotImplementedError

    def stop(self) -> None:
        """End all of its processes; may be called twice, and after a start that failed."""
        raise NotImplementedError

    def user(self, name: str, groups: Sequence[str] = ()) -> Api:
        """A client for another user, who may do what RBAC grants to the name and the groups."""
        raise NotImplementedError

    def __enter__(self) -> Stack:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
