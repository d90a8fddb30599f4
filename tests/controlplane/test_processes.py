"""No server outlives the session that started it, however the session ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from controlplane.processes import NotReady, Processes, free_ports

# A session of its own: a test that has started a server, told its process id, and hangs.
SESSION = """\
import time
from pathlib import Path

import pytest

from controlplane.processes import Processes

@pytest.fixture
def servers():
    with Processes(Path("logs")) as processes:
        # A server that ignores the polite signal and has a child of its own.
        pid = processes.start("server", ["sh", "-c", "trap '' TERM; sleep 600 & wait; wait"])
        Path("pid").write_text(str(pid))
        yield processes

def test_that_hangs(servers):
    Path("begun").touch()
    time.sleep(600)
"""


def members(group: int) -> list[int]:
    """The processes of a process group that still run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(entry.parent.name))
    return found


def gone(group: int, seconds: float = 20) -> bool:
    ends = time.monotonic() + seconds
    while members(group) and time.monotonic() < ends:
        time.sleep(0.05)
    return not members(group)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_session_that_was_ended_from_outside(
    tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "test_hanging.py").write_text(SESSION)
    session = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "test_hanging.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        ends = time.monotonic() + 60
        while not (tmp_path / "begun").exists():
            assert session.poll() is None
            assert time.monotonic() < ends
            time.sleep(0.05)
        group = int((tmp_path / "pid").read_text())
        assert members(group)
        session.send_signal(number)
        session.wait(30)
        assert gone(group)
    finally:
        session.kill()
        session.wait()


def test_a_server_that_ends_before_it_is_ready_is_told_with_what_it_wrote(tmp_path: Path) -> None:
    with (
        Processes(tmp_path) as processes,
        pytest.raises(NotReady, match=r"(?s)ended with 3.*no such flag"),
    ):
        processes.start(
            "server", ["sh", "-c", "echo no such flag; exit 3"], ready="http://127.0.0.1:1/"
        )


def test_a_server_that_never_gets_ready_is_ended_with_the_others(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        first = processes.start("first", ["sleep", "600"])
        with pytest.raises(NotReady, match="not ready within"):
            processes.start("second", ["sleep", "600"], ready=lambda: False, seconds=0.2)
        assert processes.names() == ["first", "second"]
    assert gone(first)


def test_a_server_is_started_again_with_the_command_that_it_had(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        before = processes.start("server", ["sh", "-c", "echo $WORD; sleep 600"], {"WORD": "here"})
        log = processes.log("server")
        processes.wait("server", lambda: log.read_text() == "here\n")
        after = processes.restart("server", ready=lambda: log.read_text() == "here\nhere\n")
        assert gone(before)
        assert members(after)


def test_ports_are_different_and_free() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
