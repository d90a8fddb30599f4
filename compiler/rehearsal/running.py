"""The nodes while they run: started, waited for, started again as the kubelet would."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from compiler.rehearsal.casting import Cast
from compiler.rehearsal.processes import Output, Process
from compiler.rehearsal.watching import Watch

Came = Literal["reached", "ended", "failed", "late"]
LOOK = 0.04
# After one node has failed, the others get this many seconds to say why they did.
_ECHO = 3.0
# Starts of a node within one part, however many the cluster would make.
_MOST_STARTS = 5


class Running:
    """All nodes.

    `renames` tells that a pod that starts again has another name (a batch Job), `one_ends_all` that
    the run has succeeded when one node has (an elastic PyTorchJob: training-operator,
    pytorchjob_controller.go, UpdateJobStatus).
    """

    def __init__(
        self, cast: Cast, seconds: float, renames: bool = False, one_ends_all: bool = False
    ) -> None:
        self.cast = cast
        self.renames = renames
        self.one_ends_all = one_ends_all
        self.outputs = {node.index: Output() for node in cast.nodes}
        self.watch = Watch(cast.checkpoints, self.outputs)
        self.processes: dict[int, Process] = {}
        self.restarted: dict[int, int] = {}
        self._until = time.monotonic() + seconds

    def wait(
        self,
        goal: Callable[[], bool],
        restarting: bool = False,
        ready: Callable[[int], bool] = lambda index: True,
    ) -> Came:
        """Wait for a goal, for all nodes to end well, or for a failure.

        With `restarting` a node that failed is started again, once it is `ready` to.
        """
        while True:
            self.watch.look()
            if goal():
                return "reached"
            if self._over():
                for process in self.processes.values():
                    process.settle()
                self.watch.look()
                return "reached" if goal() else "ended"
            for index, process in list(self.processes.items()):
                code = process.code
                if not code or (restarting and not ready(index)):
                    continue
                if not (restarting and self.restart(index)):
                    self._hear_out()
                    return "failed"
            if time.monotonic() > self._until:
                return "late"
            time.sleep(LOOK)

    def _over(self) -> bool:
        """Whether the run has succeeded; what still runs of it then is ended, as pods are."""
        codes = [process.code for process in self.processes.values()]
        if all(code == 0 for code in codes):
            return True
        if not self.one_ends_all or 0 not in codes:
            return False
        self._hear_out()
        for process in self.processes.values():
            if process.code is None:
                process.kill()
        return True

    def _hear_out(self) -> None:
        until = time.monotonic() + _ECHO
        while time.monotonic() < until and any(p.code is None for p in self.processes.values()):
            time.sleep(LOOK)
        for process in self.processes.values():
            if process.code is not None:
                process.settle()

    def start_all(self) -> None:
        for node in self.cast.nodes:
            self.processes[node.index] = Process(node, self.outputs[node.index])

    def restart(self, index: int) -> bool:
        """Start a node again as the kubelet would; False where it would not any more."""
        count = self.restarted[index] = self.restarted.get(index, 0) + 1
        if count > min(_MOST_STARTS, self.cast.restarts):
            return False
        # What the command left behind is gone with its container.
        self.processes[index].kill()
        if count > 1:
            # The kubelet waits 10 s, 20 s and so on.
            time.sleep(0.5 * 2 ** (count - 2))
        node = self.cast.nodes[index]
        if self.renames:
            node.env["HOSTNAME"] = f"{node.pod.rpartition('-')[0]}-{count}"
        self.processes[index] = Process(node, self.outputs[index])
        return True

    def kill_all(self) -> None:
        for process in self.processes.values():
            process.kill()
