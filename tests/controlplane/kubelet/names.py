"""The network of the pods on one machine: an address of loopback for each name of a Service.

The operator makes a headless Service for each pod, with the pod's own name. Pods of one machine
share its ports, so that each job also gets free ones for those that its nodes meet at.
"""

from __future__ import annotations

import re
import socket
import threading
from typing import Any

Object = dict[str, Any]
JOB = "training.kubeflow.org/job-name"
MEETING = "pytorchjob-port"


class Network:
    """Who has which address and port; `resolved` are the names that resolve at present."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._addresses: dict[tuple[str, str], str] = {}
        self._ports: dict[tuple[str, str, int], int] = {}

    def address(self, namespace: str, name: str) -> str:
        """The address that stands for a Service of a namespace."""
        with self._lock:
            number = len(self._addresses) + 1
            made = f"127.77.{number >> 8 & 255}.{number & 255}"
            return self._addresses.setdefault((namespace, name), made)

    def port(self, namespace: str, job: str, port: int) -> int:
        """The port at which the nodes of a job meet instead."""
        with self._lock:
            key = namespace, job, port
            if key not in self._ports:
                self._ports[key] = free_port()
            return self._ports[key]

    def names(self, namespace: str) -> dict[str, str]:
        """All addresses that were given out for a namespace, with their names."""
        with self._lock:
            given = self._addresses.items()
            return {address: name for (space, name), address in given if space == namespace}


class Neighbours:
    """How a pod of a job speaks of the others: by address and port of this machine."""

    def __init__(self, network: Network, pod: Object) -> None:
        self._network = network
        self._pod = pod["metadata"]["name"]
        self._namespace: str = pod["metadata"]["namespace"]
        self.job: str | None = (pod["metadata"].get("labels") or {}).get(JOB)
        space = re.escape(self._namespace)
        self._names = self._meeting = None
        if self.job is not None:
            job = re.escape(self.job)
            self._names = re.compile(
                rf"(?<![\w.-])({job}-(?:master|worker)-\d+)(?:\.{space}(?:\.svc[\w.-]*)?)?(?![\w-])"
            )
            self._meeting = _meeting(pod)

    def variables(self, given: dict[str, str]) -> dict[str, str]:
        """The variables with names and ports of this machine."""
        made = {name: self.text(value) for name, value in given.items()}
        for name, value in given.items():
            if self._meeting and name.endswith("_PORT") and value == str(self._meeting):
                made[name] = self._port()
        endpoint = given.get("PET_RDZV_ENDPOINT")
        if self.job is not None and endpoint and given.get("PET_RDZV_BACKEND") == "c10d":
            # On loopback every node takes itself for the one that the endpoint names.
            hosts = str(endpoint.partition(":")[0].split(".")[0] == self._pod).lower()
            conf = given.get("PET_RDZV_CONF")
            made["PET_RDZV_CONF"] = f"{conf},is_host={hosts}" if conf else f"is_host={hosts}"
        return made

    def text(self, text: str) -> str:
        """A text with addresses in place of names, and the ports beside them."""
        if self._names is None:
            return text
        text = self._names.sub(lambda found: self._network.address(self._namespace, found[1]), text)
        if self._meeting is None:
            return text
        return re.sub(
            rf"(?<=\b127\.77\.)(\d+\.\d+):{self._meeting}(?!\d)",
            lambda found: f"{found[1]}:{self._port()}",
            text,
        )

    def word(self, text: str) -> str:
        """The same for a word of a command, which may also be the port alone."""
        return self._port() if self._meeting and text == str(self._meeting) else self.text(text)

    def _port(self) -> str:
        assert self.job is not None
        assert self._meeting is not None
        return str(self._network.port(self._namespace, self.job, self._meeting))


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _meeting(pod: Object) -> int | None:
    for container in pod["spec"]["containers"]:
        for port in container.get("ports") or []:
            if port.get("name") == MEETING:
                return int(port["containerPort"])
    return None
