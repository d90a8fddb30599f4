"""What a process was told from outside: to stop, or to save.

The handlers only take note. The loop acts between two steps, when all processes have agreed.
"""

from __future__ import annotations

import signal
from types import FrameType, TracebackType

STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Save and stop. torchrun passes these on to its processes (run.py, --signals-to-handle)."""

SAVE = signal.SIGUSR1
"""Save and go on. For a process itself: torchrun does not pass it on, and would end by it."""


class Signals:
    """Takes note of signals while it is entered; only in the main thread of a program."""

    def __init__(self) -> None:
        self.stop: int | None = None
        """Number of the first signal that told to stop."""
        self.save = False
        """Whether a checkpoint was asked for; set it back once it is made."""
        self._before: dict[int, object] = {}

    def __enter__(self) -> Signals:  # noqa: PYI034 (Self came with Python 3.11)
        for number in (*STOP, SAVE):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            # None stands for a handler that was not set from Python.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number == SAVE:
            self.save = True
        elif self.stop is None:
            self.stop = number
