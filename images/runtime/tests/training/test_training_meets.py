"""A node that comes back before the others have noticed its loss."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import runwright_runtime

SOURCE = Path(runwright_runtime.__file__).parents[1]
# What torchrun's agent on the first node holds.
STORE = """
import sys, time
from torch.distributed import TCPStore
store = TCPStore("127.0.0.1", int(sys.argv[1]), 2, True, wait_for_workers=False, multi_tenant=True)
print("open", flush=True)
time.sleep(600)
"""
PROCESS = """
import time
from runwright_runtime.distributed import join
print("joining", flush=True)
join()
print("joined", flush=True)
time.sleep(600)
"""
# One that knocks at the old address of another, as gloo does from C++ until its timeout.
WAITING = """
import os, time
from runwright_runtime.meeting import watched
with watched(os.environ):
    print("joining", flush=True)
    time.sleep(600)
"""


class Processes:
    """Processes that are killed with the test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[subprocess.Popen[bytes]] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]

    def start(
        self, code: str, *argv: str, **variables: str
    ) -> tuple[subprocess.Popen[bytes], Path]:
        log = self._folder / f"{len(self._started)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-c", code, *argv],
                env={**os.environ, "PYTHONPATH": str(SOURCE), **variables},
                stdout=output,
                stderr=output,
            )
        self._started.append(process)
        return process, log

    def rank(self, rank: int, code: str = PROCESS) -> tuple[subprocess.Popen[bytes], Path]:
        return self.start(
            code,
            RANK=str(rank),
            WORLD_SIZE="2",
            LOCAL_RANK="0",
            LOCAL_WORLD_SIZE="1",
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=str(self.port),
            TORCHELASTIC_USE_AGENT_STORE="True",
        )

    def end(self) -> None:
        for process in self._started:
            process.kill()
            process.wait()


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    made = Processes(tmp_path)
    try:
        yield made
    finally:
        made.end()


def said(log: Path, words: str, seconds: float = 90) -> None:
    until = time.monotonic() + seconds
    while words not in (text := log.read_text("utf-8", "replace")):
        assert "Error" not in text, text
        assert time.monotonic() < until, text
        time.sleep(0.1)


def test_a_process_does_not_wait_for_others_at_a_store_that_is_gone(processes: Processes) -> None:
    agent, opened = processes.start(STORE, str(processes.port))
    said(opened, "open")
    waiting, log = processes.rank(1, WAITING)
    said(log, "joining")
    time.sleep(4)
    assert waiting.poll() is None
    agent.kill()
    assert waiting.wait(60) == 1
    assert "went while the processes were finding each other" in log.read_text("utf-8", "replace")


def test_processes_that_have_met_do_not_end_with_the_store(processes: Processes) -> None:
    agent, opened = processes.start(STORE, str(processes.port))
    said(opened, "open")
    started = [processes.rank(rank) for rank in range(2)]
    for _, log in started:
        said(log, "joined")
    agent.kill()
    time.sleep(4)
    assert [process.poll() for process, _ in started] == [None, None]
