"""A cluster without servers, to test the kubelet by itself: pods in memory."""

from __future__ import annotations

import copy
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

Object = dict[str, Any]


class PaperCluster:
    """Pods, and the objects that they refer to: (kind, namespace, name)."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], Object] = {}
        self.nodes: dict[str, Object] = {}
        self.statuses: list[tuple[str, Object]] = []
        self._pods: dict[str, Object] = {}
        self._changes: queue.Queue[tuple[str, Object]] = queue.Queue()
        self._lock = threading.Lock()

    # --- what a test does --------------------------------------------------------------------

    def add(self, spec: Object, name: str = "pod", **metadata: Any) -> None:
        """Make a pod."""
        uid = f"uid-{name}-{time.monotonic_ns()}"
        names = {"name": name, "namespace": "default", "uid": uid, **metadata}
        self._change("ADDED", name, {"metadata": names, "spec": spec, "status": {}})

    def delete(self, name: str = "pod", grace: int | None = None) -> None:
        """Ask for a pod's deletion, as a user does."""
        pod = copy.deepcopy(self._pods[name])
        chosen = pod["spec"].get("terminationGracePeriodSeconds", 30) if grace is None else grace
        pod["metadata"] |= {"deletionTimestamp": "now", "deletionGracePeriodSeconds": chosen}
        self._change("MODIFIED", name, pod)

    def pod(self, name: str = "pod") -> Object | None:
        """A pod as it is now; None where there is none."""
        return self._pods.get(name)

    def until(self, holds: Callable[[Object], object], name: str = "pod") -> Object:
        """The status of a pod once something holds of it."""
        end = time.monotonic() + 20
        while True:
            status = (self._pods.get(name) or {}).get("status") or {}
            if status and holds(status):
                return status
            assert time.monotonic() < end, status
            time.sleep(0.01)

    def gone(self, name: str = "pod") -> Object:
        """The last status of a pod, once it is gone."""
        end = time.monotonic() + 20
        while name in self._pods:
            assert time.monotonic() < end, self._pods[name]
            time.sleep(0.01)
        return [status for said, status in self.statuses if said == name][-1]

    # --- what a kubelet does -----------------------------------------------------------------

    def pods(self, stopped: Callable[[], bool]) -> Iterator[tuple[str, Object]]:
        """All pods as ADDED, then each change."""
        while not stopped():
            try:
                yield self._changes.get(timeout=0.05)
            except queue.Empty:
                continue

    def find(self, kind: str, name: str, namespace: str) -> Object | None:
        """An object of the core group."""
        return self.objects.get((kind, namespace, name))

    def register(self, node: Object) -> None:
        """Make a node known."""
        self.nodes[node["metadata"]["name"]] = node

    def forget(self, node: str) -> None:
        """Take a node away."""
        del self.nodes[node]

    def bind(self, pod: Object, node: str) -> None:
        """Put a pod on a node."""
        bound = copy.deepcopy(self._pods[pod["metadata"]["name"]])
        bound["spec"]["nodeName"] = node
        self._change("MODIFIED", pod["metadata"]["name"], bound)

    def report(self, pod: Object, status: Object) -> bool:
        """Write a pod's status; whether the pod is still there."""
        name = pod["metadata"]["name"]
        with self._lock:
            now = self._pods.get(name)
            if now is None or now["metadata"]["uid"] != pod["metadata"]["uid"]:
                return False
            self._pods[name] = {**now, "status": copy.deepcopy(status)}
            self.statuses.append((name, copy.deepcopy(status)))
        return True

    def remove(self, pod: Object) -> None:
        """Take a pod away."""
        with self._lock:
            gone = self._pods.pop(pod["metadata"]["name"])
        self._changes.put(("DELETED", gone))

    def _change(self, kind: str, name: str, pod: Object) -> None:
        with self._lock:
            self._pods[name] = pod
        self._changes.put((kind, copy.deepcopy(pod)))
