"""Servers as child processes of the test session: started, waited for, and all of them ended."""

from __future__ import annotations

import atexit
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

WARDEN = Path(__file__).with_name("warden.py")

# Below the ports that Linux gives to outgoing connections, which else could take one in between.
PORTS = range(18000, 31000)


# What tells that a server is ready: a call, or an address that answers with 200.
Ready = Callable[[], bool] | str


class NotReady(Exception):
    """A server ended before it was ready, or was not ready in time; with the end of its log."""


def free_ports(count: int) -> list[int]:
    """As many different TCP ports as wanted on which nothing of this machine listens."""
    ports: list[int] = []
    while len(ports) < count:
        port = random.choice(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
        if port not in ports:
            ports.append(port)
    return ports


def free_port() -> int:
    """A TCP port on which nothing of this machine listens."""
    return free_ports(1)[0]


def answers(address: str) -> bool:
    """Whether an address over plain HTTP answers with 200."""
    try:
        with urllib.request.urlopen(address, timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


def tail(log: Path, lines: int = 20) -> str:
    """The last lines of a log, each cut at 400 characters."""
    if not log.exists():
        return ""
    text = log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]
    return "\n".join(line[:400] for line in text)


class Processes:
    """Servers that end with this object, or with the session, however that ends.

    Each is the leader of a process group of its own, so what it starts ends with it. Its output
    goes to `<folder>/<name>.log`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._commands: dict[str, tuple[list[str], dict[str, str], Path | None]] = {}
        self._warden: subprocess.Popen[str] | None = None

    def log(self, name: str) -> Path:
        """The file with what a server writes."""
        return self.folder / f"{name}.log"

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        ready: Ready | None = None,
        seconds: float = 60,
    ) -> int:
        """The process id of a server, once it is ready; `env` is added to the session's own.

        Raises NotReady where the server ends before that, or `seconds` pass.
        """
        if self.alive(name):
            raise ValueError(f"{name} runs already")
        self.folder.mkdir(parents=True, exist_ok=True)
        words = [str(word) for word in command]
        self._commands[name] = (words, dict(env or {}), cwd)
        with self.log(name).open("ab") as log:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                cwd=cwd,
                start_new_session=True,
            )
        self._running[name] = process
        self._tell(f"+{process.pid}")
        if ready is not None:
            self.wait(name, ready, seconds)
        return process.pid

    def wait(self, name: str, ready: Ready, seconds: float = 60) -> None:
        """Return once a server is ready; asked up to twenty times a second. Raises NotReady."""
        ends = time.monotonic() + seconds
        while not (answers(ready) if isinstance(ready, str) else ready()):
            if not self.alive(name):
                code = self._running[name].returncode
                raise NotReady(f"{name} ended with {code}:\n{tail(self.log(name))}")
            if time.monotonic() >= ends:
                raise NotReady(
                    f"{name} was not ready within {seconds:g} s:\n{tail(self.log(name))}"
                )
            time.sleep(0.05)

    def alive(self, name: str) -> bool:
        """Whether a server was started and has not ended."""
        return name in self._running and self._running[name].poll() is None

    def names(self) -> list[str]:
        """The servers that run now, in the order of their start."""
        return [name for name in self._running if self.alive(name)]

    def signal(self, name: str, number: int) -> None:
        """Send a signal to a server's whole group."""
        self._signal(self._running[name], number)

    def stop(self, name: str | None = None, seconds: float = 2) -> None:
        """Ask a server, or all of them, to end, and kill their groups after `seconds`.

        With `seconds` 0 they are killed at once. A server that is not there is no mistake.
        """
        if name is not None:
            process = self._running.pop(name, None)
            self._end([process] if process else [], seconds)
            return
        processes = list(self._running.values())[::-1]
        self._running.clear()
        self._end(processes, seconds)
        if self._warden is not None:
            atexit.unregister(self.stop)
            assert self._warden.stdin is not None
            self._warden.stdin.close()
            self._warden.wait()
            self._warden = None

    def restart(self, name: str, ready: Ready | None = None, seconds: float = 60) -> int:
        """Stop a server and start it as it was started; its new process id."""
        words, env, cwd = self._commands[name]
        self.stop(name)
        return self.start(name, words, env, cwd, ready, seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _end(self, processes: Sequence[subprocess.Popen[bytes]], seconds: float) -> None:
        ends = time.monotonic() + seconds
        if seconds:
            for process in processes:
                self._signal(process, signal.SIGTERM)
        while time.monotonic() < ends and any(each.poll() is None for each in processes):
            time.sleep(0.02)
        for process in processes:
            # The group may have members left though its leader has ended.
            self._signal(process, signal.SIGKILL)
            process.wait()
            self._tell(f"-{process.pid}")

    def _signal(self, process: subprocess.Popen[bytes], number: int) -> None:
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            return

    def _tell(self, line: str) -> None:
        """Tell the warden, who is started with the first server."""
        if self._warden is None:
            atexit.register(self.stop)
            self._warden = subprocess.Popen(
                [sys.executable, "-I", "-S", str(WARDEN)],
                stdin=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        assert self._warden.stdin is not None
        self._warden.stdin.write(line + "\n")
        self._warden.stdin.flush()
