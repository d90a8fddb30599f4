"""Nodes as groups of processes: started, read, signalled, and gone at the end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Self

from compiler.rehearsal import keeper
from compiler.rehearsal.casting import Node

# Of each node's output this much is kept from its beginning, and this much from its end.
MOST = 4 << 20
TAIL = 64 << 10


class Output:
    """What a node has written: all of a usual amount, the beginning and the end of a flood."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._tail = bytearray()
        self._left_out = 0
        self._lock = threading.Lock()

    def add(self, data: bytes) -> None:
        """Take in what was written."""
        with self._lock:
            room = MOST - len(self._begun)
            self._begun += data[:room]
            self._tail += data[room:] if room >= 0 else data
            surplus = len(self._tail) - TAIL
            if surplus > 0:
                del self._tail[:surplus]
                self._left_out += surplus

    def text(self, since: int = 0) -> str:
        """What was written from a place on, as `size` gave it."""
        with self._lock:
            gap = f"\n... {self._left_out} bytes left out ...\n" if self._left_out else ""
            if since > len(self._begun):
                # What came since is in the tail, or was left out.
                return gap + self._tail.decode("utf-8", "replace")
            begun = self._begun[since:].decode("utf-8", "replace")
            return begun + gap + self._tail.decode("utf-8", "replace")

    def lines(self, since: int) -> tuple[str, int]:
        """The whole lines from a place on, and the place after them; none of a flood's."""
        with self._lock:
            data = bytes(self._begun[since:]).rpartition(b"\n")[0]
            return data.decode("utf-8", "replace"), since + len(data) + 1 if data else since

    @property
    def size(self) -> int:
        """How much was written."""
        return len(self._begun) + len(self._tail) + self._left_out


class Process:
    """One start of a node's command.

    `code` is its exit code once it has ended: 128 and the signal's number for one that was killed,
    127 for a command that is not there, as a shell says it. `failure` is why it could not be
    started, `nowhere` whether the folder to start in is what is missing.
    """

    def __init__(self, node: Node, output: Output) -> None:
        self.node = node
        self.output = output
        self.since = output.size
        self.began = time.monotonic()
        self.failure: str | None = None
        self.nowhere = False
        self._program: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        try:
            self._program = subprocess.Popen(
                node.words,
                cwd=node.cwd,
                env=node.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self.nowhere = not node.cwd.is_dir()
            shown = node.paths.there(str(node.cwd)) if self.nowhere else node.words[0]
            why = error.strerror if isinstance(error, OSError) else str(error)
            self.failure = f"{shown}: {why}"
            output.add(f"{self.failure}\n".encode())
            return
        assert self._program.stdout is not None
        self._reader = threading.Thread(
            target=_read, args=(self._program.stdout, output), daemon=True
        )
        self._reader.start()

    @property
    def code(self) -> int | None:
        """The exit code; None while it runs."""
        if self._program is None:
            return 127
        code = self._program.poll()
        return code if code is None or code >= 0 else 128 - code

    @property
    def text(self) -> str:
        """What this start has written, with the container's own paths."""
        return self.node.paths.there(self.output.text(self.since))

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the command alone, as the kubelet does."""
        if self._program is not None and self._program.poll() is None:
            self._program.send_signal(number)

    def kill(self) -> None:
        """End it and everything below it, as the end of a machine does."""
        keeper.kill(str(self.node.folder))
        if self._program is not None:
            self._program.kill()
            self._program.wait()
        self.settle()

    def settle(self) -> None:
        """Wait until what was written has been read."""
        if self._reader is not None:
            self._reader.join(2)


class Stage:
    """The folder of a rehearsal, and the processes in it; left, nothing of either is there."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="rehearsal-")).resolve()
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(keeper.__file__)), str(self.root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": os.defpath},
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        keeper.kill(str(self.root))
        shutil.rmtree(self.root, ignore_errors=True)
        # Should the two lines above have been interrupted: the keeper does the same.
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        self._keeper.wait()


def _read(stream: IO[bytes], output: Output) -> None:
    while data := os.read(stream.fileno(), 65536):
        output.add(data)
    stream.close()
