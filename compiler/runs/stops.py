"""What `policy/stops/` stops: a run with its lineage, a team, or an image.

A stop is matched against the ledger as well as the declaration, so that it still reaches a run
whose file has changed since, is broken, or is gone.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from compiler.runs.declared import Key, StopNow, Target
from compiler.runs.entries import Entry, Ledger


class Stopped(Struct, frozen=True):
    """What the stops say of one job on one cluster.

    `job` stops what is declared: its active run ends and nothing starts. `run` stops the active
    run alone: what is declared today is another lineage or another image, and may start.
    """

    job: StopNow | None = None
    run: StopNow | None = None


def stopped(
    key: Key, cluster: str, target: Target | None, ledger: Ledger, stops: Sequence[StopNow]
) -> Stopped:
    """The first stop that covers the job here, or its active run."""
    active = ledger.active(cluster)
    of_run: StopNow | None = None
    for stop in stops:
        covers_run, covers_job = _covers(stop, key, cluster, target, ledger, active)
        if covers_job or (covers_run and target is None):
            return Stopped(job=stop)
        if covers_run:
            of_run = of_run or stop
    return Stopped(run=of_run)


def image_stopped(run: Entry, stops: Sequence[StopNow]) -> bool:
    """Whether the image that a run was started with is stopped."""
    own = run.inputs.get("image", ""), run.inputs.get("image_name", "")
    return any(stop.image is not None and _is(stop.image, *own) for stop in stops)


def _covers(
    stop: StopNow,
    key: Key,
    cluster: str,
    target: Target | None,
    ledger: Ledger,
    active: Entry | None,
) -> tuple[bool, bool]:
    """Whether it covers the active run, and whether it covers what is declared."""
    if stop.team is not None:
        return stop.team == key[0], stop.team == key[0]
    if stop.run is not None:
        named = next((run for run in ledger.runs if f"{key[0]}/{run.name}" == stop.run), None)
        if named is None or named.cluster != cluster:
            return False, False
        return (
            active is not None and active.lineage == named.lineage,
            target is not None and target.training == named.training,
        )
    if stop.image is None:
        return False, False
    of_run = active is not None and image_stopped(active, (stop,))
    today = target is not None and _is(stop.image, target.image, target.image_name)
    if today and active is not None and not of_run and target is not None:
        # The lock moved to a stopped image, and the run has an older one: it is not of the image.
        today = (active.training, active.operation) != (target.training, target.operation)
    return of_run, today


def _is(image: str, reference: str, name: str) -> bool:
    """Whether `image`, a name under `images/`, a digest or a whole reference, means this one."""
    return bool(image) and image in (reference, reference.partition("@")[2], name)
