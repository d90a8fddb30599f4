"""The kubelet: puts pods on nodes, runs them, and says what became of them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from compiler.rehearsal import keeper
from controlplane.api import Api
from controlplane.kubelet import nodes
from controlplane.kubelet.cluster import Cluster, ServedCluster
from controlplane.kubelet.images import Images
from controlplane.kubelet.names import Network
from controlplane.kubelet.podrun import Place, PodRun
from controlplane.kubelet.processes import Process

Object = dict[str, Any]


class Kubelet:
    """All pods of a cluster for which `takes` holds, run on this machine.

    Used as a context: left, none of its processes is there, nor its folders but for the logs, which
    lie in `logs` (a folder of its own unless one is given, removed with the rest).
    """

    def __init__(
        self,
        cluster: Api | Cluster,
        logs: Path | None = None,
        images: Images | None = None,
        takes: Callable[[Object], bool] = lambda pod: True,
        backoff: float = 0.5,
    ) -> None:
        self.cluster: Cluster = ServedCluster(cluster) if isinstance(cluster, Api) else cluster
        self.root = Path(tempfile.mkdtemp(prefix="kubelet-")).resolve()
        self.claims = self.root / "claims"
        self.network = Network()
        self._place = Place(
            self.cluster,
            images or Images(),
            self.network,
            self.root,
            logs or self.root / "logs",
            backoff,
        )
        self._takes = takes
        self._pods: dict[str, PodRun] = {}
        self._nodes: dict[str, Object] = {}
        self._services: set[tuple[str, str]] = set()
        self._ended: list[PodRun] = []
        self._stopped = threading.Event()
        self.failures: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._kept, args=(work,), name=f"kubelet {work.__name__}")
            for work in (self._follow, self._resolve)
        ]
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(keeper.__file__)), str(self.root)],
            stdin=subprocess.PIPE,
            cwd="/",
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.daemon = True
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.failures += [pod.failure for pod in self._known() if pod.failure is not None]
        assert not self.failures, self.failures

    def stop(self) -> None:
        """End all pods at once, as a power cut does, and take the nodes away."""
        self._stopped.set()
        for pod in self._known():
            pod.vanished()
        for thread in [*self._threads, *self._known()]:
            if thread.is_alive():
                thread.join(10)
        for name in self._nodes:
            self.cluster.forget(name)
        keeper.kill(str(self.root))
        shutil.rmtree(self.root, ignore_errors=True)
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        self._keeper.wait()

    # --- what a test looks at ----------------------------------------------------------------

    def run_of(self, namespace: str, name: str) -> PodRun:
        """The pod of a name that runs here, or the last that did. Raises KeyError."""
        for pod in reversed(self._known()):
            if pod.key == (namespace, name):
                return pod
        raise KeyError((namespace, name))

    def logs(self, namespace: str, pod: str, container: str | None = None) -> str:
        """All that the pods of a name have written, one start after the other."""
        runs: list[Process] = [
            run
            for known in self._known()
            if known.key == (namespace, pod)
            for one in known.containers.all
            if container in (None, one.name)
            for run in one.runs
        ]
        return "".join(run.text for run in sorted(runs, key=lambda run: run.started))

    def environment(self, namespace: str, pod: str, container: str = "pytorch") -> dict[str, str]:
        """The variables that a container was given, references put in. Raises KeyError."""
        return self.run_of(namespace, pod).containers.settings[container].given

    def claim(self, namespace: str, name: str) -> Path:
        """The folder of a claim."""
        folder = self.claims / namespace / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def process(self, namespace: str, pod: str, container: str = "pytorch") -> Process:
        """What runs in a container. Raises LookupError where nothing does."""
        found = self.run_of(namespace, pod).containers
        process = found.process(found.named(container))
        if process is None:
            raise LookupError(f"nothing runs in {container} of {namespace}/{pod}")
        return process

    def kill(self, namespace: str, pod: str, container: str = "pytorch") -> None:
        """End a container with SIGKILL, as running out of memory does."""
        self.process(namespace, pod, container).kill()

    def evict(self, namespace: str, pod: str, why: str = "The node was low on memory.") -> None:
        """End a pod as its node's pressure does: it fails, and is not started again here."""
        self.run_of(namespace, pod).evict(why)

    # --- what it does by itself --------------------------------------------------------------

    def _known(self) -> list[PodRun]:
        return [*self._ended, *list(self._pods.values())]

    def _kept(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - shown when the kubelet is left
            if not self._stopped.is_set():
                self.failures.append(error)

    def _follow(self) -> None:
        for kind, pod in self.cluster.pods(self._stopped.is_set):
            if self._stopped.is_set():
                return
            if self._takes(pod):
                self._seen(kind, pod)

    def _seen(self, kind: str, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        known = self._pods.get(uid)
        if kind == "DELETED":
            if known is not None:
                known.vanished()
                self._ended.append(self._pods.pop(uid))
        elif known is not None:
            known.changed(pod)
        elif "nodeName" in pod["spec"]:
            if pod["spec"]["nodeName"] in self._nodes and not _over(pod):
                self._begin(pod)
        elif "deletionTimestamp" not in pod["metadata"] and not nodes.gated(pod):
            self._bind(pod)

    def _begin(self, pod: Object) -> None:
        # Where a node that is not on paper would have it.
        number = len(self._pods) + len(self._ended) + 1
        address = f"10.77.{1 + (number >> 8 & 127)}.{number & 255}"
        made = self._pods[pod["metadata"]["uid"]] = PodRun(pod, self._place, address)
        made.start()

    def _bind(self, pod: Object) -> None:
        labels = nodes.wanted(pod)
        if labels is None:
            return
        more = nodes.resources(pod)
        for node in self._nodes.values():
            if labels.items() <= node["metadata"]["labels"].items() and (
                more.keys() <= node["status"]["allocatable"].keys()
            ):
                break
        else:
            # Of this kubelet alone: another one of the same cluster has its own.
            name = f"{self.root.name.replace('_', '-').lower()}-{len(self._nodes) + 1}"
            node = nodes.node(name, labels, more)
            self.cluster.register(node)
            self._nodes[name] = node
        self.cluster.bind(pod, node["metadata"]["name"])

    def _resolve(self) -> None:
        """Keep each pod's list of names: a Service resolves while its pod is ready."""
        while not self._stopped.wait(0.1):
            running = list(self._pods.values())
            ready = {pod.key for pod in running if pod.ready}
            for space in {pod.key[0] for pod in running}:
                lines = [
                    f"{address} {name}\n"
                    for address, name in self.network.names(space).items()
                    if (space, name) in ready and self._served(space, name)
                ]
                for pod in running:
                    hosts = pod.settings.hosts
                    text = "".join(lines)
                    if pod.key[0] == space and hosts.exists() and hosts.read_text() != text:
                        new = hosts.with_suffix(".new")
                        new.write_text(text)
                        new.replace(hosts)

    def _served(self, namespace: str, name: str) -> bool:
        if (namespace, name) not in self._services:
            if self.cluster.find("Service", name, namespace) is None:
                return False
            self._services.add((namespace, name))
        return True


def _over(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
