"""One publish, in memory: declarations and ledgers in, decisions and new ledgers out.

A pure function. `plan` shows what it says, `publish` writes it; so both say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from compiler.runs.engine import Decision, End, Ending, Wanted, decide
from compiler.runs.entries import Entry, Ledger, Moment
from compiler.runs.observations import Observation, observe, unlisted
from compiler.runs.room import Demand, Room

Key = tuple[str, str]
"""A job: team and name."""
NOTHING: Demand = {}


@dataclass(frozen=True, slots=True)
class Target:
    """What a declaration wants on one cluster; the digests are today's."""

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


@dataclass(frozen=True, slots=True)
class Declared:
    """One job as it is declared now.

    `unusable` says why the file cannot be judged; then `targets` is empty and nothing is read as
    absent. `order` is the rank of the commit that gave the job its present training and
    operation, then the path: who comes first gets the room.
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
    was: str | None = None
    order: tuple[int, str] = (0, "")
    files: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def key(self) -> Key:
        return (self.team, self.job)


@dataclass(frozen=True, slots=True)
class StopNow:
    """A file of `policy/stops/`: a run, a team or an image, and why."""

    reason: str
    run: str | None = None
    team: str | None = None
    image: str | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything about one publish that is not a job: time, commit, inputs."""

    now: datetime
    source: str
    keep: timedelta = timedelta(hours=72)
    compiler: str = ""
    bases: Mapping[tuple[Key, str], str] = field(default_factory=dict[tuple[Key, str], str])
    reset: frozenset[str] = frozenset()
    namespaces: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class JobDecision:
    """A decision, with the job and the cluster that it is about."""

    team: str
    job: str
    cluster: str
    path: str
    decision: Decision
    target: Target | None = None


@dataclass(slots=True)
class Outcome:
    """What a publish does: the decisions in their order, and every ledger afterwards."""

    decisions: list[JobDecision]
    ledgers: dict[Key, Ledger]


def fold(
    ledgers: Mapping[Key, Ledger],
    declared: Sequence[Declared],
    observations: Iterable[Observation],
    stops: Sequence[StopNow],
    room: Room,
    facts: Facts,
    same: Mapping[tuple[Key, int], tuple[str, str]] | None = None,
) -> Outcome:
    """Decide about every job on every cluster that it names or has runs on.

    `same` gives, by job and number, the digests that today's compiler computes for a run of the
    ledger; where it is silent the recorded ones stand. `room` is empty at first; it holds the
    active runs afterwards.
    """
    books = _canonical(ledgers, same or {})
    books = _observed(books, observations, facts)
    books = _reset(books, facts)
    for (team, _), ledger in books.items():
        for run in ledger.runs:
            if run.active:
                room.take(run.cluster, team, run.accelerators)
    by_key = {job.key: job for job in declared}
    decisions: list[JobDecision] = []
    for key, job, cluster in _agenda(books, declared, by_key):
        ledger = books.get(key, Ledger(*key))
        ledger, ahead = _image_stops(ledger, job, cluster, stops, facts, room)
        target = job.targets.get(cluster) if job is not None else None
        wanted = _wanted(key, job, cluster, target, ledger, stops)
        decision = _decide(cluster, wanted, ledger, target, room, key[0])
        if ahead:
            decision = replace(decision, ends=(*ahead, *decision.ends))
        books[key] = _applied(ledger, decision, job, cluster, target, room, facts)
        path = job.path if job is not None else ""
        decisions.append(JobDecision(*key, cluster, path, decision, target))
    return Outcome(decisions, books)


def _canonical(
    ledgers: Mapping[Key, Ledger], same: Mapping[tuple[Key, int], tuple[str, str]]
) -> dict[Key, Ledger]:
    books: dict[Key, Ledger] = {}
    for key, ledger in ledgers.items():
        runs = tuple(
            replace(run, training=now[0], operation=now[1])
            if (now := same.get((key, run.number))) is not None
            else run
            for run in ledger.runs
        )
        books[key] = replace(ledger, runs=runs)
    return books


def _observed(
    books: dict[Key, Ledger], observations: Iterable[Observation], facts: Facts
) -> dict[Key, Ledger]:
    seen = sorted(observations, key=lambda observation: observation.at)
    made: dict[Key, Ledger] = {}
    for key, ledger in books.items():
        namespace = facts.namespaces.get(key[0], key[0])
        for observation in seen:
            ledger = observe(ledger, observation, namespace, facts.now, facts.keep)
        made[key] = unlisted(ledger, None, namespace, facts.now, facts.keep)
    return made


def _reset(books: dict[Key, Ledger], facts: Facts) -> dict[Key, Ledger]:
    """A cluster that was rebuilt has none of its runs any more."""
    moment = Moment(facts.now.isoformat(), facts.source, "reset")
    for key, ledger in books.items():
        for run in ledger.runs:
            if run.active and run.cluster in facts.reset:
                ledger = ledger.with_run(run.end("lost", "unknown", moment))
        books[key] = ledger
    return books


def _agenda(
    books: Mapping[Key, Ledger], declared: Sequence[Declared], by_key: Mapping[Key, Declared]
) -> list[tuple[Key, Declared | None, str]]:
    """Who is decided about in which order.

    First what only ends (it gives room back), then the rest by the commit that asked for it.
    """
    ending: list[tuple[Key, Declared | None, str]] = []
    rest: list[tuple[Key, Declared | None, str]] = []
    for key in sorted(set(books) - set(by_key)):
        ending += [(key, None, cluster) for cluster in books[key].clusters]
    for job in sorted(declared, key=lambda job: (*job.order, job.path)):
        own = books[job.key].clusters if job.key in books else ()
        for cluster in dict.fromkeys((*job.clusters, *own)):
            ends = not job.unusable and (job.stopped or job.expired or cluster not in job.clusters)
            (ending if ends else rest).append((job.key, job, cluster))
    return ending + rest


def _wanted(
    key: Key,
    job: Declared | None,
    cluster: str,
    target: Target | None,
    ledger: Ledger,
    stops: Sequence[StopNow],
) -> Wanted:
    stop = _stopping(key, cluster, target, ledger, stops)
    ends: Ending | None = None
    because = ""
    if stop is not None:
        ends, because = "stopped", f"policy/stops/ stops it: {stop.reason}"
    elif job is None:
        ends, because = "removed", "its file is gone"
    elif job.unusable:
        return Wanted(unusable=job.unusable)
    elif job.stopped:
        ends, because = "stopped", "it says `state: stopped`"
    elif job.expired:
        ends, because = "expired", "its last day is over"
    elif cluster not in job.clusters:
        ends, because = "removed", f"it no longer names {cluster}"
    if ends is not None:
        return Wanted(ends=ends, ends_because=because)
    assert job is not None
    if target is None:
        return Wanted(unusable=f"the declaration cannot be judged for {cluster}")
    return Wanted(
        training=target.training,
        operation=target.operation,
        refused=target.refused,
        guarded=target.guarded,
        resume_from=target.resume_from,
        names=frozenset(job.clusters),
    )


def _stopping(
    key: Key, cluster: str, target: Target | None, ledger: Ledger, stops: Sequence[StopNow]
) -> StopNow | None:
    """The stop that covers the job here, matched against its runs as well as its declaration."""
    present = [run for run in ledger.on(cluster) if run.state in ("active", "held")]
    for stop in stops:
        if stop.team == key[0]:
            return stop
        if stop.run is not None:
            named = next((run for run in ledger.runs if f"{key[0]}/{run.name}" == stop.run), None)
            if named is not None and named.cluster == cluster:
                same_lineage = any(run.lineage == named.lineage for run in present)
                same_training = target is not None and target.training == named.training
                if same_lineage or (not present and same_training):
                    return stop
        if stop.image and target is not None and stop.image in (target.image, target.image_name):
            return stop
    return None


def _image_stops(
    ledger: Ledger,
    job: Declared | None,
    cluster: str,
    stops: Sequence[StopNow],
    facts: Facts,
    room: Room,
) -> tuple[Ledger, tuple[End, ...]]:
    """End what runs a stopped image where today's is another; rows h to m go on from there."""
    target = job.targets.get(cluster) if job is not None else None
    active = ledger.active(cluster)
    images = {stop.image for stop in stops if stop.image}
    if active is None or target is None or active.inputs.get("image") not in images:
        return ledger, ()
    if images & {target.image, target.image_name}:
        return ledger, ()
    moment = Moment(facts.now.isoformat(), facts.source)
    outcome = "incomplete" if active.guarded else "unknown"
    room.release(cluster, ledger.team, active.accelerators)
    ended = ledger.with_run(active.end("stopped", outcome, moment))
    return ended, (End(active.number, "stopped", outcome),)


def _decide(
    cluster: str, wanted: Wanted, ledger: Ledger, target: Target | None, room: Room, team: str
) -> Decision:
    active = ledger.active(cluster)

    def fits(release: bool) -> bool:
        if target is None:
            return True
        back: Demand = active.accelerators if release and active is not None else NOTHING
        return room.fits(cluster, team, target.demand, back)

    return decide(cluster, wanted, ledger, fits, ledger.next_number)


def _applied(
    ledger: Ledger,
    decision: Decision,
    job: Declared | None,
    cluster: str,
    target: Target | None,
    room: Room,
    facts: Facts,
) -> Ledger:
    moment = Moment(facts.now.isoformat(), facts.source)
    for end in decision.ends:
        run = next(run for run in ledger.runs if run.number == end.number)
        if run.state == "ended":
            continue
        if run.active:
            room.release(cluster, ledger.team, run.accelerators)
        ledger = ledger.with_run(run.end(end.reason, end.outcome, moment))
    if decision.action not in ("start", "resume", "hold"):
        return ledger
    assert job is not None
    assert target is not None
    assert decision.number is not None
    waiting = next((run for run in ledger.runs if run.number == decision.number), None)
    entry = _entry(job, cluster, target, decision, facts, ledger)
    if waiting is not None:
        entry = replace(entry, held=waiting.held)
    if decision.action == "hold":
        return ledger.with_run(replace(entry, state="held", listed=False, held=moment))
    room.take(cluster, ledger.team, target.demand)
    return ledger.with_run(replace(entry, state="active", listed=True, started=moment))


def _entry(
    job: Declared,
    cluster: str,
    target: Target,
    decision: Decision,
    facts: Facts,
    ledger: Ledger,
) -> Entry:
    assert decision.number is not None
    lineage = decision.lineage if decision.lineage is not None else decision.number
    by_number = {run.number: run for run in ledger.runs}
    image = by_number[decision.image_of].inputs.get("image") if decision.image_of else None
    base = by_number[decision.base_of].inputs.get("base") if decision.base_of else None
    first = by_number.get(lineage)
    folder = first.checkpoint_dir if first is not None else None
    if folder is None and target.checkpoint_root is not None:
        folder = f"{target.checkpoint_root}/{cluster}/{job.team}/{job.job}/r{lineage}"
    inputs = {
        "image": image or target.image,
        "base": base or facts.bases.get((job.key, cluster), ""),
        "compiler": facts.compiler,
    }
    return Entry(
        number=decision.number,
        cluster=cluster,
        name=f"{job.job}-r{decision.number}",
        state="active",
        training=target.training,
        operation=target.operation,
        lineage=lineage,
        guarded=target.guarded,
        came_from=decision.start_from,
        checkpoint_dir=folder,
        declared=job.text,
        inputs={name: value for name, value in inputs.items() if value},
        files=dict(job.files),
        accelerators=dict(target.demand),
        nodes=target.nodes,
        declared_hours=target.declared_hours,
    )
