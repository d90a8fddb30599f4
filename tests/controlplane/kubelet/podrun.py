"""The life of one pod on this node, from its binding to its removal."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from controlplane.kubelet.cluster import Cluster
from controlplane.kubelet.images import Images
from controlplane.kubelet.names import Network
from controlplane.kubelet.policies import phase
from controlplane.kubelet.running import Containers
from controlplane.kubelet.setting import Settings
from controlplane.kubelet.status import status

Object = dict[str, Any]
LOOK = 0.03
REST = 0.2
OVER = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Place:
    """What all pods of a kubelet share."""

    cluster: Cluster
    images: Images
    network: Network
    root: Path
    logs: Path
    backoff: float


class PodRun(threading.Thread):
    """A pod that runs here. `address` is what its status calls its IP; nothing listens there."""

    def __init__(self, pod: Object, place: Place, address: str) -> None:
        names = pod["metadata"]
        super().__init__(name=f"pod {names['namespace']}/{names['name']}", daemon=True)
        self.pod = pod
        self.key = names["namespace"], names["name"]
        self.ready = False
        self.failure: BaseException | None = None
        self._place = place
        self._address = address
        self._since = datetime.now(UTC)
        self._final: tuple[str, str, str] | None = None
        self._evicted: str | None = None
        self._gone = threading.Event()
        root = place.root / "pods" / names["uid"]
        self.settings = Settings(
            pod,
            root,
            place.root / "claims",
            place.images,
            place.network,
            lambda kind, name: place.cluster.find(kind, name, names["namespace"]),
        )
        self.logs = place.logs / names["namespace"] / names["name"] / names["uid"]
        self.containers = Containers(pod, self.settings, self.logs, place.backoff)

    def run(self) -> None:
        """Run the pod until it has ended and is deleted, or is gone."""
        try:
            self._live()
        except BaseException as error:  # noqa: BLE001 - shown by the kubelet's `failures`
            self.failure = error
            self.containers.kill()

    def changed(self, pod: Object) -> None:
        """Take in a change of the pod."""
        self.pod = pod

    def vanished(self) -> None:
        """The pod was taken away by force: its processes go with it."""
        self._gone.set()

    def evict(self, why: str) -> None:
        """End the pod as its node's pressure does: at once, and for good."""
        self._evicted = why

    def _live(self) -> None:
        began = time.monotonic()
        deadline = self.pod["spec"].get("activeDeadlineSeconds")
        self._report()
        while not self._gone.is_set():
            if "deletionTimestamp" in self.pod["metadata"]:
                self._terminate()
                return
            if self._final is None and self._evicted is not None:
                self._end("Evicted", self._evicted, 0)
            elif self._final is None and deadline and time.monotonic() - began > deadline:
                said = "Pod was active on the node longer than the specified deadline"
                self._end("DeadlineExceeded", said, self._grace())
            elif not self._over() and self.containers.proceed():
                self._report()
                if self._over():
                    self._sidecars()
            self._gone.wait(REST if self._over() else LOOK)
        self.containers.kill()

    def _over(self) -> bool:
        return self._final is not None or self._phase() in OVER

    def _phase(self) -> str:
        return phase(self.containers.policy, self.containers.all)

    def _grace(self) -> float:
        given = self.pod["metadata"].get("deletionGracePeriodSeconds")
        if given is None:
            given = self.pod["spec"].get("terminationGracePeriodSeconds", 30)
        return float(given)

    def _sidecars(self) -> None:
        """What runs beside the containers ends after them."""
        if any(one.running for one in self.containers.all):
            self.containers.stop(self._grace(), self._patient)
            self._report()

    def _end(self, reason: str, message: str, grace: float) -> None:
        self.containers.stop(grace, self._patient)
        self._final = "Failed", reason, message
        self._report()

    def _terminate(self) -> None:
        self.ready = False
        self.containers.stop(self._grace(), self._patient)
        if not self._gone.is_set():
            if self._phase() not in OVER and self._final is None:
                self.containers.lost(137, "ContainerStatusUnknown")
                codes = [one.ended.code for one in self.containers.all if one.ended is not None]
                self._final = ("Failed" if any(codes) else "Succeeded", "", "")
            self._report()
            self._place.cluster.remove(self.pod)

    def _patient(self) -> bool:
        return not self._gone.is_set()

    def _report(self) -> None:
        made = status(self.pod, self.containers.all, self._since, self._address, self._final)
        self.ready = any(
            one["type"] == "Ready" and one["status"] == "True" for one in made["conditions"]
        )
        if not self._place.cluster.report(self.pod, made):
            self._gone.set()
