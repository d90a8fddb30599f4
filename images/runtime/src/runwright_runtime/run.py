"""Which run a process belongs to, as its environment says (docs/environment.md)."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runwright_runtime import completion
from runwright_runtime.completion import Completion
from runwright_runtime.failures import MissingVariable
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

        rank = values.get("RANK") or values.get("PET_NODE_RANK")
        return cls(
            name=value("RUN_NAME"),
            number=_whole("RUN_NUMBER", value("RUN_NUMBER")),
            lineage=value("RUN_LINEAGE"),
            folder=Path(value("CHECKPOINT_DIR")),
            commit=value("SOURCE_COMMIT"),
            rank=_whole("RANK", rank) if rank else None,
            host=values.get("HOSTNAME") or socket.gethostname(),
        )

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


def _whole(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise MissingVariable(f"{name} is {text!r}, which is no whole number")
    return int(text)
