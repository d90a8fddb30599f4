"""Every job on every cluster in turn, with the ledgers and the room as they become."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from compiler.quota.month import use_of, used, yet
from compiler.runs.declared import Declared, Facts, Key, StopNow, Target
from compiler.runs.engine import Decision, End, Ending, Wanted, decide
from compiler.runs.entries import Entry, Ledger, Moment
from compiler.runs.room import HOURS, Lack, Room
from compiler.runs.stopguard import Place
from compiler.runs.stops import Stopped, image_stopped, stopped


class Item(Struct, frozen=True):
    """One job on one cluster, to be decided about."""

    key: Key
    job: Declared | None
    cluster: str

    @property
    def place(self) -> Place:
        return (self.key, self.cluster)

    @property
    def target(self) -> Target | None:
        return self.job.targets.get(self.cluster) if self.job is not None else None

    @property
    def team(self) -> str:
        return self.key[0]


def agenda(
    books: Mapping[Key, Ledger], declared: Sequence[Declared], book_of: Mapping[Key, Key]
) -> list[Item]:
    """Who is decided about in which order.

    First what only ends (it gives room back), then the rest by the commit that asked for it.
    """
    ending: list[Item] = []
    rest: list[Item] = []
    for key in sorted(set(books) - set(book_of.values())):
        ending += [Item(key, None, cluster) for cluster in books[key].clusters]
    for job in sorted(declared, key=lambda job: (*job.order, job.path)):
        key = book_of[job.key]
        own = books[key].clusters if key in books else ()
        for cluster in dict.fromkeys((*job.clusters, *own)) or ("",):
            ends = not job.unusable and (job.stopped or job.expired or cluster not in job.clusters)
            (ending if ends else rest).append(Item(key, job, cluster))
    return ending + rest


class Deciding:
    """One pass over all jobs, with the ledgers and the room as they become."""

    def __init__(
        self,
        books: Mapping[Key, Ledger],
        agenda: Sequence[Item],
        stops: Sequence[StopNow],
        room: Room,
        facts: Facts,
    ) -> None:
        self.books = dict(books)
        self.agenda = agenda
        self.stops = stops
        self.room = room
        self.facts = facts
        self.moment = Moment(facts.now.isoformat(), facts.source)
        for (team, _), ledger in books.items():
            for run in ledger.runs:
                if run.active:
                    room.take(run.cluster, team, run.accelerators)
                if run.launched:
                    room.spend(team, self._spends(team, run))
        self.stopped: dict[Place, Stopped] = {}
        # Ends that `policy/stops/` brought about before the table was asked.
        self.ahead: dict[Place, End] = {}

    def decided(self, withheld: Mapping[Place, Decision]) -> dict[Place, Decision]:
        """The decision for each item of the agenda.

        What would wait for room is asked again, first comer first, whenever a run has given room
        back: so the same publish, done again, has nothing left to do.
        """
        for item in self.agenda:
            self._stop_run(item)
        made: dict[Place, Decision] = {
            place: replace(
                decision,
                action="blocked",
                reason=f"withheld by the stop guard: {decision.reason}",
                change="--allow-stops",
                ends=(),
            )
            for place, decision in withheld.items()
        }
        waiting = [item for item in self.agenda if item.place not in made]
        at = 0
        while at < len(waiting):
            item = waiting[at]
            decision = self._decision(item)
            if decision.waits:
                at += 1
                continue
            made[item.place] = decision
            del waiting[at]
            if self._apply(item, decision):
                at = 0
        for item in waiting:
            made[item.place] = decision = self._decision(item)
            self._apply(item, decision)
        return {
            place: replace(one, ends=(self.ahead[place], *one.ends)) if place in self.ahead else one
            for place, one in made.items()
        }

    def unasked(self, made: Mapping[Place, Decision]) -> Iterable[tuple[Place, Decision]]:
        """The decisions that `policy/stops/` did not ask for, without the ends that it did."""
        for place, one in made.items():
            if not self.stopped[place].job:
                asked = self.ahead.get(place)
                yield place, replace(one, ends=tuple(end for end in one.ends if end != asked))

    def _stop_run(self, item: Item) -> None:
        """End what a stop covers, where what is declared today may start in its place."""
        ledger = self._ledger(item)
        told = stopped(item.key, item.cluster, item.target, ledger, self.stops)
        self.stopped[item.place] = told
        active = ledger.active(item.cluster)
        if told.run is not None and active is not None:
            self.ahead[item.place] = end = End(active.number, "stopped", "unknown")
            self._end(item, active, end)

    def _ledger(self, item: Item) -> Ledger:
        return self.books.get(item.key) or Ledger(*item.key)

    def _decision(self, item: Item) -> Decision:
        ledger, target = self._ledger(item), item.target
        active = ledger.active(item.cluster)

        def fits(release: bool) -> bool:
            if target is None:
                return True
            lacks = self._lacking(item, target, active if release else None)
            return next(lacks, None) is None

        wanted = _wanted(item, self.stopped[item.place].job)
        decision = decide(item.cluster, wanted, ledger, fits, ledger.next_number)
        if self.facts.halted and (decision.starts or decision.action == "hold"):
            return self._halted(decision, active)
        if decision.waits and target is not None:
            return self._without_hours(item, target, active, decision)
        return self._without_stopped_image(ledger, decision)

    def _lacking(self, item: Item, target: Target, released: Entry | None) -> Iterator[Lack]:
        """The limits that stand against a start, were an active run `released` first."""
        purse = self.room.purse
        seconds: Fraction | int = 0
        if purse is not None and item.team in purse.hours:
            seconds = yet(purse.month, target.demand, target.seconds)
            if released is not None:
                seconds -= self._leaves(item.team, released)
        back = released.accelerators if released is not None else None
        return self.room.lacking(
            item.cluster, item.team, target.demand, back, target.least, seconds
        )

    def _without_hours(
        self, item: Item, target: Target, active: Entry | None, decision: Decision
    ) -> Decision:
        """What waits, with the reason told where it is the budget alone."""
        lacks = list(self._lacking(item, target, active))
        if any(lack.accelerator != HOURS for lack in lacks):
            return decision
        for lack in lacks:
            left = max(0, lack.free)
            said = (
                f"of the {lack.limit} accelerator-hours of {item.team} this month {left} are left"
            )
            return replace(decision, reason=f"{decision.reason}: {said}")
        return decision

    def _spends(self, team: str, run: Entry) -> Fraction:
        """The accelerator-seconds of a run in this month, of an active one the most; none where no
        budget asks for them."""
        purse = self.room.purse
        if purse is None or team not in purse.hours:
            return Fraction(0)
        return used(purse.month, use_of(run), run.active)

    def _leaves(self, team: str, run: Entry) -> Fraction:
        """What of the month an active run leaves when it ends now."""
        ended = run.end("superseded", "unknown", self.moment)
        return self._spends(team, run) - self._spends(team, ended)

    def _halted(self, decision: Decision, active: Entry | None) -> Decision:
        """Row a for a start: a stop that nobody can read is not one that is absent."""
        stays = f"; r{active.number} stays as it is" if active is not None else ""
        return Decision(
            "a",
            "blocked",
            f"{self.facts.halted}{stays}",
            "mend the stop",
            active.number if active is not None else None,
            notes=decision.notes,
        )

    def _without_stopped_image(self, ledger: Ledger, decision: Decision) -> Decision:
        """Row l goes on with the lineage's image, unless that is stopped: then with today's."""
        old = next((run for run in ledger.runs if run.number == decision.image_of), None)
        if old is None or not image_stopped(old, self.stops):
            return decision
        note = f"the image of r{old.number} is stopped by policy/stops/: it goes on with today's"
        return replace(decision, image_of=None, notes=(*decision.notes, note))

    def _apply(self, item: Item, decision: Decision) -> bool:
        """Write a decision into the ledger and the room; whether a run gave room back."""
        gave_back = False
        for end in decision.ends:
            run = next(run for run in self._ledger(item).runs if run.number == end.number)
            gave_back |= run.active
            self._end(item, run, end)
        if decision.action not in ("start", "resume", "hold"):
            return gave_back
        target, ledger = item.target, self._ledger(item)
        assert item.job is not None
        assert target is not None
        waited = next((run for run in ledger.runs if run.number == decision.number), None)
        entry = _entry(item.job, item.cluster, target, decision, self.facts, item.key, ledger)
        if decision.action == "hold":
            entry = replace(entry, state="held", held=self.moment)
        else:
            started, held = self.moment, None
            if waited is not None:
                # It is not the commit that starts it, but that there is room by now.
                held, started = waited.held, Moment(self.facts.today.isoformat(), self.facts.source)
            entry = replace(entry, state="active", listed=True, held=held, started=started)
            self.room.take(item.cluster, item.team, target.demand)
            self.room.spend(item.team, self._spends(item.team, entry))
        self.books[item.key] = ledger.with_run(entry)
        return gave_back

    def _end(self, item: Item, run: Entry, end: End) -> None:
        if run.active:
            self.room.release(item.cluster, item.team, run.accelerators)
            self.room.spend(item.team, -self._leaves(item.team, run))
        moment = self.moment
        if end.reason == "expired":
            moment = Moment(self.facts.today.isoformat(), self.facts.source, "clock")
        ended = run.end(end.reason, end.outcome, moment)
        self.books[item.key] = self._ledger(item).with_run(ended)


def _wanted(item: Item, stop: StopNow | None) -> Wanted:
    """What the declaration wants; a stop of policy goes before everything that it says."""
    job, cluster, target = item.job, item.cluster, item.target
    if stop is not None:
        return Wanted(ends="stopped", ends_because=f"policy/stops/ stops it: {stop.reason}")
    if job is None:
        return Wanted(ends="removed", ends_because="its file is gone")
    if job.unusable:
        return Wanted(unusable=job.unusable)
    ends: Ending | None = None
    because = ""
    if job.stopped:
        ends, because = "stopped", "it says `state: stopped`"
    elif job.expired:
        ends, because = "expired", "its last day is over"
    elif cluster not in job.clusters:
        ends, because = "removed", f"it no longer names {cluster}"
    if ends is not None:
        return Wanted(ends=ends, ends_because=because, refused=job.refusal(cluster))
    if target is None:
        return Wanted(unusable=f"the declaration cannot be judged for {cluster}")
    return Wanted(
        training=target.training,
        operation=target.operation,
        refused=job.refusal(cluster),
        guarded=target.guarded,
        resume_from=target.resume_from,
        names=frozenset(job.clusters),
    )


def _entry(
    job: Declared,
    cluster: str,
    target: Target,
    decision: Decision,
    facts: Facts,
    key: Key,
    ledger: Ledger,
) -> Entry:
    """The run that starts or waits, made from today's inputs and those that row l keeps."""
    assert decision.number is not None
    lineage = decision.lineage if decision.lineage is not None else decision.number
    by_number = {run.number: run for run in ledger.runs}
    image = by_number[decision.image_of].inputs.get("image") if decision.image_of else None
    base = by_number[decision.base_of].inputs.get("base") if decision.base_of else None
    first = by_number.get(lineage)
    folder = first.checkpoint_dir if first is not None else None
    if folder is None and target.checkpoint_root is not None:
        folder = f"{target.checkpoint_root}/{cluster}/{job.team}/{key[1]}/r{lineage}"
    inputs = {
        "image": image or target.image,
        "image_name": target.image_name,
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
        namespace=facts.namespaces.get(job.team, ""),
    )
