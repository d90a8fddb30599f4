"""Runs as the ledger remembers them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

State = Literal["held", "active", "ended"]
Reason = Literal["removed", "stopped", "expired", "superseded", "withdrawn", "finished", "lost"]
Outcome = Literal["unknown", "incomplete", "succeeded", "failed"]

# How far a run has got, for the union of several ledgers: the furthest wins, field by field.
STATES: tuple[State, ...] = ("held", "active", "ended")
OUTCOMES: tuple[Outcome, ...] = ("unknown", "incomplete", "failed", "succeeded")


class Moment(Struct, frozen=True):
    """When something happened to a run, and what brought it about.

    `at` is an RFC 3339 time; `source` the commit, `by` what acted (`publish`, `observation`,
    `clock`, `reset`).
    """

    at: str
    source: str = ""
    by: str = "publish"


class Entry(Struct, frozen=True):
    """One run of a job: a number is used once, ever.

    `declared` is the declaration as it was written, `came_from` the run whose checkpoints it goes
    on with, `lineage` the number of the first run that it shares its checkpoint folder with.
    `namespace` is where its object is: policy may give its team another one later. `began` and
    `finished` are the times that its cluster told, RFC 3339; '' where none was seen.
    """

    number: int
    cluster: str
    name: str
    state: State
    training: str
    operation: str
    lineage: int
    listed: bool = False
    reason: Reason | None = None
    outcome: Outcome = "unknown"
    guarded: bool = False
    came_from: int | None = None
    checkpoint_dir: str | None = None
    declared: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    held: Moment | None = None
    started: Moment | None = None
    ended: Moment | None = None
    accelerators: Mapping[str, int] = field(default_factory=dict[str, int])
    nodes: int = 1
    declared_hours: str = ""
    real_hours: str = ""
    namespace: str = ""
    began: str = ""
    finished: str = ""

    @property
    def launched(self) -> bool:
        """Whether the run ever reached a cluster: it was active once."""
        return self.state == "active" or (self.state == "ended" and self.reason != "withdrawn")

    @property
    def active(self) -> bool:
        return self.state == "active"

    def end(
        self, reason: Reason, outcome: Outcome, moment: Moment, *, listed: bool = False
    ) -> Entry:
        """The run, ended; one that ended by itself may stay listed for a while."""
        return replace(
            self, state="ended", reason=reason, outcome=outcome, listed=listed, ended=moment
        )


class Ledger(Struct, frozen=True):
    """All runs of one job, in the order of their numbers.

    `also` are further names that `was` has joined to the job's first one, for ever.
    """

    team: str
    job: str
    runs: tuple[Entry, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def next_number(self) -> int:
        """The next number: higher than every number used on any cluster."""
        return max((run.number for run in self.runs), default=0) + 1

    def on(self, cluster: str) -> tuple[Entry, ...]:
        """The runs on one cluster."""
        return tuple(run for run in self.runs if run.cluster == cluster)

    def active(self, cluster: str) -> Entry | None:
        """The run that holds its accelerators on this cluster now."""
        return self._in("active", cluster)

    def held(self, cluster: str) -> Entry | None:
        """The run that waits for room on this cluster."""
        return self._in("held", cluster)

    def _in(self, state: State, cluster: str) -> Entry | None:
        # From the newest on: what is active or held is near the end.
        for run in reversed(self.runs):
            if run.state == state and run.cluster == cluster:
                return run
        return None

    def with_run(self, run: Entry) -> Ledger:
        """The ledger with this run added, or in the place of the one of the same number."""
        others = tuple(other for other in self.runs if other.number != run.number)
        return replace(self, runs=tuple(sorted((*others, run), key=lambda entry: entry.number)))

    @property
    def clusters(self) -> tuple[str, ...]:
        """Every cluster that the job has runs on, in the order of their names."""
        return tuple(sorted({run.cluster for run in self.runs}))
