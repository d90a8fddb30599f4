"""Processes that wait for each other at a store that goes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from launching import Launcher, Node, free_port, until

# What torchrun's agent on the first node holds.
STORE = """
import sys, time
from torch.distributed import TCPStore
store = TCPStore("127.0.0.1", int(sys.argv[1]), 2, True, wait_for_workers=False, multi_tenant=True)
print("open", flush=True)
time.sleep(600)
"""
MEETING = """
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


class Meeting:
    """A store that processes meet at; `agent` holds it."""

    def __init__(self, launcher: Launcher, folder: Path) -> None:
        self._launcher = launcher
        self._folder = folder
        self._port = str(free_port())
        self.agent = self._start(STORE, [self._port], {})
        until(lambda: "open" in self.agent.text, self.agent)

    def _start(self, code: str, argv: list[str], environment: dict[str, str]) -> Node:
        path = self._folder / f"{len(list(self._folder.iterdir()))}.py"
        path.write_text(code, "utf-8")
        return self._launcher.start([str(path), *argv], environment, nodes=False)

    def rank(self, rank: int, code: str) -> Node:
        """A process that torchrun would start."""
        return self._start(
            code,
            [],
            {
                "RANK": str(rank),
                "WORLD_SIZE": "2",
                "LOCAL_RANK": "0",
                "LOCAL_WORLD_SIZE": "1",
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": self._port,
                "TORCHELASTIC_USE_AGENT_STORE": "True",
            },
        )


@pytest.fixture
def meeting(launcher: Launcher, tmp_path: Path) -> Meeting:
    return Meeting(launcher, tmp_path)


def test_a_process_does_not_wait_for_others_at_a_store_that_is_gone(meeting: Meeting) -> None:
    waiting = meeting.rank(1, WAITING)
    until(lambda: "joining" in waiting.text, waiting)
    assert not waiting.ended.wait(4)
    meeting.agent.kill()
    assert waiting.wait() == 1
    assert "went while the processes were finding each other" in waiting.text


def test_processes_that_have_met_do_not_end_with_the_store(meeting: Meeting) -> None:
    started = [meeting.rank(rank, MEETING) for rank in range(2)]
    until(lambda: all("joined" in node.text for node in started), *started)
    meeting.agent.kill()
    time.sleep(4)
    assert [node.code for node in started] == [None, None]
    for node in started:
        node.kill()
