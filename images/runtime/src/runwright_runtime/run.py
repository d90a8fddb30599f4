"""Which run a process belongs to, as its environment says (docs/environment.md)."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runwright_runtime import completion
from runwright_runtime.completion import Completion
from runwright_runtime.failures import MissingVariable, RunFailure
from runwright_runtime.fence import Fence


@dataclass(frozen=True)
class Run:
    """A run, as one of its processes sees it; `rank` is None where there are no ranks."""

    name: str
    number: int
    lineage: str
    folder: Path
    commit: str
    rank: int | None = None
    host: str = "pod"
    every: int | None = None
    """Seconds between two checkpoints, as the job asks for."""
    keep: int | None = None
    """How many checkpoints to keep, as the job asks for."""
    source: Path | None = None
    """Folder to start from, while the own one holds no checkpoint."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Run:
        """The run that the environment names.

        The rank is that of the process under torchrun, else that of the node. Raises
        MissingVariable.
        """
        values = os.environ if environment is None else environment

        def value(name: str) -> str:
            if not values.get(name):
                raise MissingVariable(
                    f"{name} is not set: it comes with the run, and with `checkpoint:` in the job"
                )
            return values[name]

        def number(name: str) -> int | None:
            return _whole(name, values[name]) if values.get(name) else None

        rank = values.get("RANK") or values.get("PET_NODE_RANK")
        source = values.get("CHECKPOINT_FROM")
        return cls(
            name=value("RUN_NAME"),
            number=_whole("RUN_NUMBER", value("RUN_NUMBER")),
            lineage=value("RUN_LINEAGE"),
            folder=Path(value("CHECKPOINT_DIR")),
            commit=value("SOURCE_COMMIT"),
            rank=_whole("RANK", rank) if rank else None,
            host=values.get("HOSTNAME") or socket.gethostname(),
            every=number("CHECKPOINT_EVERY"),
            keep=number("CHECKPOINT_KEEP"),
            source=Path(source) if source else None,
        )

    @classmethod
    def here(cls, environment: Mapping[str, str] | None = None) -> Run | None:
        """The run that the environment names; None outside of runs, and for one that saves nothing.

        Raises MissingVariable where a folder is named, and the run that it belongs to is not.
        """
        values = os.environ if environment is None else environment
        return cls.from_environment(values) if values.get("CHECKPOINT_DIR") else None

    @property
    def writes(self) -> bool:
        """Whether this process speaks for the run: rank 0, or any where there are no ranks."""
        return self.rank in (None, 0)

    def complete(self) -> Completion | None:
        """How the training of this lineage ended; None if it has not. Raises Damaged."""
        return completion.read(self.folder)

    def fence(self, grace: int = 30) -> Fence:
        """The right to write to the folder; `grace` in seconds, from SIGTERM to SIGKILL."""
        pod = str(self.rank) if self.rank is not None else self.host
        return Fence(self.folder, self.number, pod if self.writes else None, grace)

    def mark_complete(self, step: int | None = None) -> Completion | None:
        """Say that the training is complete, and at which step.

        Only while this run holds the fence; returns None in a process that does not speak for the
        run. Raises Superseded, Unwritable.
        """
        if not self.writes:
            return None
        self.fence().check()
        return completion.write(self.folder, self.name, step)


def end_if_complete() -> None:
    """End the program with 0 if the training of its lineage is complete.

    For the first lines of a program, before it imports what takes seconds. Ends it with 78, and
    says why, if the marker is damaged or the environment incomplete.
    """
    try:
        run = Run.here()
        done = run.complete() if run else None
    except RunFailure as failure:
        print(f"runwright: {failure}", file=sys.stderr)
        sys.exit(failure.status)
    if done:
        at = f" at step {done.step}" if done.step is not None else ""
        print(f"runwright: complete since {done.run}{at}; nothing to do", file=sys.stderr)
        sys.exit(0)


def _whole(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise MissingVariable(f"{name} is {text!r}, which is no whole number")
    return int(text)
