"""One start of a container: a process of this machine, with what it writes in a file."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from compiler.rehearsal import keeper
from controlplane.kubelet.policies import NOT_STARTED, SHOWN, Ended


class Process:
    """A started command. Its container is `folder`: whatever names it, or works in it, belongs."""

    def __init__(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        start: Path,
        folder: Path,
        log: Path,
    ) -> None:
        self.words = list(words)
        self.environment = dict(environment)
        self.folder = folder
        self.log = log
        self.started = datetime.now(UTC)
        self._ended: Ended | None = None
        self._program: subprocess.Popen[bytes] | None = None
        log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with log.open("ab") as output:
                self._program = subprocess.Popen(
                    self.words,
                    cwd=start,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except (OSError, ValueError) as error:
            self._ended = Ended(
                NOT_STARTED,
                self.started,
                datetime.now(UTC),
                "StartError",
                f'failed to create containerd task: exec: "{self.words[:1]}": {error}',
            )

    @property
    def pid(self) -> int | None:
        """The process' id; None for a command that could not be started."""
        return self._program.pid if self._program is not None else None

    def end(self, logs_tell: bool) -> Ended | None:
        """How it ended; None while it runs. What it leaves behind ends with it, as in a container.

        `logs_tell` puts the end of the log into the message of a failure
        (`terminationMessagePolicy: FallbackToLogsOnError`).
        """
        if self._ended is None and self._program is not None:
            code = self._program.poll()
            if code is None:
                return None
            keeper.kill(str(self.folder))
            code = code if code >= 0 else 128 - code
            message = self.text[-SHOWN:] if code and logs_tell else ""
            self._ended = Ended(code, self.started, datetime.now(UTC), message=message)
        return self._ended

    @property
    def text(self) -> str:
        """What it has written so far."""
        return self.log.read_text("utf-8", "replace")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the command alone: the first process of a container."""
        if self._program is not None and self._program.poll() is None:
            self._program.send_signal(number)

    def kill(self) -> None:
        """End the container with all that runs in it."""
        # The command first: its code must say that it was killed, not what it made of the others.
        if self._program is not None:
            self._program.kill()
            self._program.wait()
        keeper.kill(str(self.folder))

    def processes(self) -> list[int]:
        """The ids of all processes of the container."""
        return sorted(keeper.belonging(str(self.folder)))
