"""Runs on this machine: nodes as groups of processes, under what the operator would set."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

IMAGES = Path(__file__).parent
RUNTIME = IMAGES / "runtime" / "src"
# Waiting ends here: far more than anything takes, so that a test that hangs fails.
LIMIT = 240
PORT = "23456"


class Node:
    """A process that was started, with those below it."""

    def __init__(self, pid: int, out: Path) -> None:
        self.pid = pid
        self.out = out
        self.code: int | None = None
        self.ended = threading.Event()

    @property
    def text(self) -> str:
        """What it has written so far."""
        return self.out.read_text("utf-8", "replace") if self.out.exists() else ""

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process alone, as the kubelet does."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End it and all below it, as the end of a machine does."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Its exit code; minus the signal's number for one that was killed."""
        assert self.ended.wait(LIMIT), f"still runs:\n{self.text[-4000:]}"
        assert self.code is not None
        return self.code


class Launcher:
    """Starts processes from one that has imported torch, and whatever `more` names."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.folder = folder
        self._nodes: dict[int, Node] = {}
        self._started: list[Node] = []
        self._lock = threading.Lock()
        self._came = threading.Condition(self._lock)
        self._pids: list[int] = []
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(RUNTIME)}
        self._process = subprocess.Popen(
            [sys.executable, str(IMAGES / "warm.py"), *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            with self._came:
                if "started" in said:
                    self._pids.append(said["started"])
                    self._came.notify_all()
                    continue
                # What has ended can be asked for before its start was told.
                while said["ended"] not in self._nodes:
                    self._came.wait(1)
                node = self._nodes.pop(said["ended"])
                node.code = said["code"]
                node.ended.set()

    def start(self, argv: list[str], environment: dict[str, str], nodes: bool) -> Node:
        """Start a program, under torchrun if it is one of several nodes."""
        out = self.folder / f"{len(self._started)}.log"
        base = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ},
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo",
            "PYTHONPATH": str(RUNTIME),
        }
        wanted = {"nodes": nodes, "argv": argv, "env": {**base, **environment}, "out": str(out)}
        assert self._process.stdin is not None
        with self._came:
            self._process.stdin.write(json.dumps(wanted) + "\n")
            self._process.stdin.flush()
            while not self._pids:
                assert self._process.poll() is None, "the process that forks has ended"
                self._came.wait(1)
            node = Node(self._pids.pop(0), out)
            self._nodes[node.pid] = node
            self._started.append(node)
            self._came.notify_all()
        return node

    def close(self) -> None:
        """End whatever still runs."""
        for node in self._started:
            if not node.ended.is_set():
                node.kill()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(LIMIT)


def identity(folder: Path | None, number: int = 1, **more: str) -> dict[str, str]:
    """What the compiler writes into the container (docs/environment.md)."""
    found = {
        "RUN_NAME": f"job-r{number}",
        "RUN_NUMBER": str(number),
        "RUN_LINEAGE": "job-r1",
        "SOURCE_COMMIT": "0" * 40,
        **more,
    }
    return {**found, "CHECKPOINT_DIR": str(folder)} if folder else found


def static(nodes: int, each: int, port: int) -> list[dict[str, str]]:
    """What the operator sets on each node of a run of a fixed number (docs/environment.md)."""
    shared = {
        "PYTHONUNBUFFERED": "1",
        "MASTER_ADDR": "127.0.0.1",
        "PET_MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "PET_MASTER_PORT": str(port),
        "WORLD_SIZE": str(nodes * each),
        "PET_NPROC_PER_NODE": str(each),
        "PET_NNODES": str(nodes),
    }
    return [
        {**shared, "RANK": str(node), "PET_NODE_RANK": str(node), "HOSTNAME": f"job-{node}"}
        for node in range(nodes)
    ]


def elastic(low: int, high: int, each: int, port: int, node: int) -> dict[str, str]:
    """What the operator sets on a node of an elastic run."""
    return {
        "PYTHONUNBUFFERED": "1",
        "PET_NPROC_PER_NODE": str(each),
        "PET_NNODES": f"{low}:{high}",
        "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ENDPOINT": f"127.0.0.1:{port}",
        "PET_RDZV_ID": "job-r1",
        "PET_RDZV_CONF": "last_call_timeout=1,keep_alive_interval=1,keep_alive_max_attempt=3",
        "PET_MAX_RESTARTS": "3",
        # A node that joins later waits for an address that torch's agent on the first node does not
        # tell again (elastic/rendezvous/dynamic_rendezvous.py, next_rendezvous), unless:
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        "HOSTNAME": f"job-worker-{node}",
    }


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def until(reached: Callable[[], object], *running: Node) -> None:
    """Wait for something to become true, while all nodes run."""
    end = time.monotonic() + LIMIT
    while not reached():
        for node in running:
            assert not node.ended.is_set(), f"ended with {node.code}:\n{node.text[-4000:]}"
        assert time.monotonic() < end, [node.text[-4000:] for node in running]
        time.sleep(0.02)
