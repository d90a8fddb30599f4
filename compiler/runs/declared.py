"""What one publish is told: declarations as they are today, stops of policy, and the facts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct, field

from compiler.runs.room import Demand

Key = tuple[str, str]
"""A job: team and name."""


class Target(Struct, frozen=True):
    """What a declaration wants on one cluster; the digests are today's.

    `demand` is what its run holds at the most, `least` what an elastic one begins with. `seconds`
    is the longest that it may run, 0 for no limit.
    """

    training: str
    operation: str
    demand: Demand
    guarded: bool = False
    resume_from: int | None = None
    nodes: int = 1
    image: str = ""
    image_name: str = ""
    checkpoint_root: str | None = None
    declared_hours: str = ""
    refused: str = ""
    least: Demand | None = None
    seconds: int = 0


class Declared(Struct, frozen=True):
    """One job as it is declared now.

    `unusable` says why the file cannot be judged; then `targets` is empty and nothing is read as
    absent. `refused` is an error rule against the file as a whole, `Target.refused` one against
    what it wants on one cluster. `order` is the rank of the commit that gave the job its present
    training and operation, then the path: who comes first gets the room.
    """

    team: str
    job: str
    path: str
    text: str = ""
    clusters: tuple[str, ...] = ()
    targets: Mapping[str, Target] = field(default_factory=dict[str, Target])
    stopped: bool = False
    expired: bool = False
    unusable: str = ""
    refused: str = ""
    was: str | None = None
    order: tuple[int, str] = (0, "")
    files: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def key(self) -> Key:
        return (self.team, self.job)

    def refusal(self, cluster: str) -> str:
        """The error rule that stands against what would happen on a cluster.

        Where the declaration no longer names the cluster, any of its errors counts: the run there
        is not given up for a declaration that cannot take its place.
        """
        target = self.targets.get(cluster)
        if self.refused or target is not None:
            return self.refused or (target.refused if target is not None else "")
        return next((other.refused for other in self.targets.values() if other.refused), "")


class StopNow(Struct, frozen=True):
    """A file of `policy/stops/`: a run, a team or an image, and why."""

    reason: str
    run: str | None = None
    team: str | None = None
    image: str | None = None


class Facts(Struct, frozen=True):
    """Everything about one publish that is not a job: time, commit, inputs.

    `now` is the time of the source commit and `clock` that of the publish itself, for what only
    the passing of time brings about. `bases` holds today's base snapshot by job and cluster;
    `reset` the clusters that were rebuilt. `halted` says why nothing may start, '' where it may.
    """

    now: datetime
    source: str
    keep: timedelta = timedelta(hours=72)
    compiler: str = ""
    bases: Mapping[tuple[Key, str], str] = field(default_factory=dict[tuple[Key, str], str])
    reset: frozenset[str] = frozenset()
    namespaces: Mapping[str, str] = field(default_factory=dict[str, str])
    clock: datetime | None = None
    halted: str = ""

    @property
    def today(self) -> datetime:
        """The time of the publish; that of its source where none is given."""
        return self.clock or self.now
