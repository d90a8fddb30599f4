"""The nodes that are left of a run of fixed size when it has lost one."""

from __future__ import annotations

import time
from collections.abc import Callable

from compiler.rehearsal.running import Running

# Seconds. A node that has not noticed the loss by then would wait for NCCL's timeout.
_UNNOTICED = 20.0


class Survivors:
    """All nodes that run now, but for the lost one."""

    def __init__(self, running: Running, lost: int, say: Callable[[str], None]) -> None:
        self._running = running
        self._lost = lost
        self._say = say
        self._since = time.monotonic()
        self._were = {at: one for at, one in running.processes.items() if at != lost}

    def noticed(self) -> bool:
        """Whether each of them has ended, or was started anew, since the loss."""
        return not self._left()

    def hurry(self) -> None:
        """End those that have not noticed when they have had the time to."""
        if time.monotonic() - self._since <= _UNNOTICED:
            return
        for index in self._left():
            self._say(f"node {index} has not noticed: ending it, as NCCL's timeout would")
            self._were[index].kill()

    def ready(self, index: int) -> bool:
        """Whether a node may be started again.

        A pod takes longer to come back than the others to notice that it went. The lost node,
        started at once, would join the store that node 0 is about to close: its launcher would
        wait there for a round that never comes.
        """
        return index != self._lost or self.noticed()

    def _left(self) -> list[int]:
        now = self._running.processes
        return [at for at, one in self._were.items() if now[at] is one and one.code is None]
