"""What a kubelet asks of the API server, and what it writes there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Protocol

from controlplane.api import Api, Refused

Object = dict[str, Any]


class Cluster(Protocol):
    """Where the pods are, and where their status goes."""

    def pods(self, stopped: Callable[[], bool]) -> Iterator[tuple[str, Object]]:
        """All pods as ADDED, then each change: its type and the pod."""
        ...

    def find(self, kind: str, name: str, namespace: str) -> Object | None:
        """An object of the core group."""
        ...

    def register(self, node: Object) -> None:
        """Make a node known, and ready."""
        ...

    def forget(self, node: str) -> None:
        """Take a node away."""
        ...

    def bind(self, pod: Object, node: str) -> None:
        """Put a pod on a node."""
        ...

    def report(self, pod: Object, status: Object) -> bool:
        """Write a pod's status; whether the pod is still there."""
        ...

    def remove(self, pod: Object) -> None:
        """Take a pod away whose containers have ended."""
        ...


class ServedCluster:
    """A cluster that has an API server."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def pods(self, stopped: Callable[[], bool]) -> Iterator[tuple[str, Object]]:
        """All pods as ADDED, then each change."""
        yield from self._api.watch("v1/Pod", stopped=stopped)

    def find(self, kind: str, name: str, namespace: str) -> Object | None:
        """An object of the core group."""
        return self._api.find(f"v1/{kind}", name, namespace)

    def register(self, node: Object) -> None:
        """Make a node known, and ready."""
        name = node["metadata"]["name"]
        with suppress(Refused):
            self._api.create({key: value for key, value in node.items() if key != "status"})
        status = {"status": node["status"]}
        self._api.patch("v1/Node", name, None, status, "strategic", subresource="status")
        # The server itself makes every new node one that is not ready.
        self._api.patch("v1/Node", name, None, {"spec": {"taints": None}})

    def forget(self, node: str) -> None:
        """Take a node away."""
        self._api.delete("v1/Node", node)

    def bind(self, pod: Object, node: str) -> None:
        """Put a pod on a node, as a scheduler does; nothing where it is gone by now."""
        names = {key: pod["metadata"][key] for key in ("name", "namespace", "uid")}
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": names,
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        path = self._api.path("v1/Pod", names["name"], names["namespace"], "binding")
        try:
            self._api.raw("POST", path, binding)
        except Refused as error:
            if error.code not in (404, 409):
                raise

    def report(self, pod: Object, status: Object) -> bool:
        """Write a pod's status; whether the pod, and no later one of its name, is there."""
        names = pod["metadata"]
        patch = {"metadata": {"uid": names["uid"]}, "status": status}
        try:
            self._api.patch(
                "v1/Pod", names["name"], names["namespace"], patch, subresource="status"
            )
        except Refused as error:
            if error.code in (404, 409):
                return False
            raise
        return True

    def remove(self, pod: Object) -> None:
        """Take a pod away whose containers have ended."""
        names = pod["metadata"]
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": names["uid"]}}
        path = self._api.path("v1/Pod", names["name"], names["namespace"])
        with suppress(Refused):
            self._api.raw("DELETE", path, body)
