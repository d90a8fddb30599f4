"""What is seen to before a run's first step, by all its processes together."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from runwright_runtime import storage
from runwright_runtime.distributed import World
from runwright_runtime.failures import RunFailure, Unwritable
from runwright_runtime.fence import MARGIN, Fence
from runwright_runtime.progress import amount
from runwright_runtime.run import Run
from runwright_runtime.signals import Signals
from runwright_runtime.state import State

GRACE = 30
"""What Kubernetes gives a pod to stop where nothing else is said; torchrun its processes too."""


class Stopped(SystemExit):
    """The training was told to stop, and has saved; ends the program with 128 + the signal."""


def grace() -> int:
    """Seconds that the pod has to stop, from what the compiler gave torchrun of them."""
    given = os.environ.get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "")
    return int(given) + MARGIN if given.isdigit() else GRACE


def acquire(world: World, fence: Fence, signals: Signals) -> None:
    """Wait for the run before to let go of the folder, and hear of a stop meanwhile.

    Raises Superseded, Unwritable and Stopped, each in all processes.
    """
    failure: list[RunFailure] = []

    def wait() -> None:
        try:
            fence.acquire()
        except RunFailure as error:
            failure.append(error)

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    while True:
        waiting.join(0.2 if world.first else 0)
        there, stop = world.largest([waiting.is_alive(), signals.stop or 0])
        if stop:
            raise Stopped(128 + stop)
        if not there:
            break

    def outcome() -> None:
        if failure:
            raise failure[0]

    world.together(outcome)


def probe(world: World, run: Run) -> None:
    """Try to write the folder, once on each node. Raises Unwritable in all processes."""

    def write() -> None:
        if world.local_rank == 0:
            storage.probe(run.folder, f"{run.number}.{world.rank}")

    world.together(write)


def refuse_full(world: World, folder: Path, state: State) -> None:
    """Raise Unwritable, in all processes, unless the folder has room for a checkpoint."""
    alone, shared = state.local_bytes()
    size = int(world.sums([alone])[0]) + shared

    def look() -> None:
        left = storage.room(folder)
        if left is not None and left < size:
            raise Unwritable(
                f"{folder} has room for {amount(left)}B, and a checkpoint takes about "
                f"{amount(size)}B: delete old ones, or ask for a larger claim"
            )

    world.told(look)
