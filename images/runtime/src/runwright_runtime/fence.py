"""OWNER: of all runs that share a checkpoint folder, the highest number may write.

`OWNER/` holds one file for each pod of each run, `<number>.<pod>`, so no two runs write the same
file when they begin. Its line says `held <grace>`, `released`, `stopping <grace>`, `stopped` or
`taken by <number>`; anything else counts as held. docs/guard.md says why.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from runwright_runtime.failures import Superseded, Unwritable
from runwright_runtime.files import save

NAME = "OWNER"
MARGIN = 15
"""Seconds beyond its grace that a run gets to notice that it has to stop, and to let go."""

LET_GO = ("released", "stopped", "taken")


@dataclass(frozen=True)
class Entry:
    """What one pod of one run says; `grace` in seconds, None where it says none."""

    path: Path
    number: int
    state: str
    grace: int | None

    @property
    def holds(self) -> bool:
        """Whether the pod may still write."""
        return self.state not in LET_GO


class Fence:
    """The right of a run to write to its checkpoint folder.

    `pod` is the name of this process's entry, None for a process that only reads. `grace` are the
    seconds from SIGTERM to SIGKILL: how long a successor waits, once it has announced itself.
    """

    def __init__(self, folder: Path, number: int, pod: str | None, grace: int = 30) -> None:
        self.folder = folder
        self.number = number
        self.pod = pod
        self.grace = grace

    def __enter__(self) -> Fence:  # noqa: PYI034 (Self came with Python 3.11)
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def acquire(self, timeout: float | None = None, poll: float = 1.0) -> None:
        """Announce this run, and wait until every run of a lower number has let go.

        They get `timeout` seconds; None: the longest grace that one of them has announced, and
        some more. Whoever has not let go by then is taken over. Returns at once for a process
        that only reads. Raises Superseded if there is a higher number, Unwritable if the folder
        cannot be written.
        """
        if self.pod is None:
            self._refuse_if_outnumbered()
            return
        try:
            (self.folder / NAME).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Unwritable(
                f"cannot write to {self.folder} ({error.strerror}): is the claim there, and may "
                "user and group write to it?"
            ) from error
        self._say(f"held {self.grace}")
        began = time.monotonic()
        # First announced, then looked: of two that come at the same time at least one sees the
        # other, and the lower number gives way.
        while True:
            if self.successor() is not None:
                self.release()
                self._refuse_if_outnumbered()
            waited_for = [e for e in self._entries() if e.number < self.number and e.holds]
            if not waited_for:
                return
            longest = max(self.grace if e.grace is None else e.grace for e in waited_for)
            patience = longest + MARGIN if timeout is None else timeout
            left = patience - (time.monotonic() - began)
            if left <= 0:
                for entry in waited_for:
                    save(entry.path, f"taken by {self.number}\n".encode())
                return
            time.sleep(min(poll, left))

    def release(self) -> None:
        """Let go: what this process has written is all there will be. Raises Unwritable."""
        if self.pod is not None and self._own.exists():
            self._say("released")

    def successor(self) -> int | None:
        """The number of a run that wants or has the folder; None while there is none.

        While it waits, this run may write its last checkpoint, and should.
        """
        return max((e.number for e in self._entries() if e.number > self.number), default=None)

    def still_owner(self) -> bool:
        """Whether this run may write: no successor is there, or one that still waits for it."""
        mine = [e for e in self._entries() if e.number == self.number]
        if self.pod is not None:
            mine = [e for e in mine if e.path == self._own]
            return any(e.holds for e in mine)
        return self.successor() is None or any(e.holds for e in mine)

    def check(self) -> None:
        """Raise Superseded unless this run may write."""
        if not self.still_owner():
            self._refuse_if_outnumbered()
            raise Superseded(f"run {self.number} does not hold {self.folder}")

    @property
    def _own(self) -> Path:
        return self.folder / NAME / f"{self.number}.{self.pod}"

    def _say(self, line: str) -> None:
        save(self._own, f"{line}\n".encode())

    def _refuse_if_outnumbered(self) -> None:
        higher = self.successor()
        if higher is not None:
            raise Superseded(f"run {higher} owns {self.folder}: run {self.number} writes no more")

    def _entries(self) -> Iterator[Entry]:
        try:
            paths = sorted((self.folder / NAME).iterdir())
        except FileNotFoundError:
            return
        except OSError as error:
            raise Unwritable(f"cannot read {self.folder / NAME}: {error.strerror}") from error
        for path in paths:
            number = path.name.partition(".")[0]
            if not (number.isascii() and number.isdigit() and len(number) < 10):
                continue
            try:
                words = path.read_bytes().decode("ascii", "replace").split()
            except OSError:
                # Unreadable is not let go.
                words = []
            grace = words[1] if len(words) > 1 else ""
            known = grace.isascii() and grace.isdigit() and len(grace) < 6
            yield Entry(path, int(number), words[0] if words else "", int(grace) if known else None)
