"""What our design has promised, checked from the story's own records.

The records (`Record`) are made by the story from what it did and what the world showed; of what
the compiler says only the ledgers are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace
from stories import CAPACITY, CLUSTERS, Decl, Halt, Job, Story
from world import Broken, Spec

from compiler.runs.entries import Entry, Ledger
from compiler.runs.fold import Outcome
from compiler.runs.observations import Observation

RANK = {"unknown": 0, "incomplete": 1, "failed": 2, "succeeded": 3}


def must(truth: bool, *what: object) -> None:
    """An invariant."""
    if not truth:
        raise Broken(" ".join(str(part) for part in what))


@dataclass(slots=True)
class Record:
    """What the story itself knows of one run."""

    job: Job
    number: int
    cluster: str
    name: str
    label: str
    way: str
    accelerators: int
    state: str = "held"
    reason: str | None = None
    outcome: str = "unknown"
    guarded: bool = False
    image: str = ""
    image_name: str = ""
    folder: str = ""
    spec: Spec | None = None

    @property
    def key(self) -> str:
        return f"{self.job[0]}/{self.name}"

    @property
    def launched(self) -> bool:
        return self.state == "active" or (self.state == "ended" and self.reason != "withdrawn")


@dataclass(slots=True)
class Counts:
    """What has been checked, for the record."""

    histories: int = 0
    steps: int = 0
    publishes: int = 0
    starts: int = 0
    resumes: int = 0
    stops: int = 0
    holds: int = 0
    # Trees of old that a cluster refused for a tombstone.
    refusals: int = 0
    rows: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def told(self) -> dict[str, int]:
        """All of it, by name."""
        numbers = {
            name: getattr(self, name)
            for name in ("histories", "steps", "publishes", "starts", "resumes", "stops", "holds")
        }
        return {**numbers, "refused trees": self.refusals}


class Promises(Story):
    """A story with records of every run, which are held against the ledgers."""

    def __init__(self, seed: int, counts: Counts | None) -> None:
        super().__init__(seed)
        self.counts = counts or Counts()
        self.records: dict[tuple[Job, int], Record] = {}
        self.texts: dict[str, Decl] = {}
        # Names that `was` has joined, each with the one that its ledger stands under.
        self.joined: dict[Job, Job] = {}
        # Names with two files, or with two ledgers.
        self.contested: set[Job] = set()
        self.delivered: list[Observation] = []
        self.reset: set[str] = set()
        # Runs that may train what was trained before: plan said so, or somebody cleared the way.
        self.excused: set[str] = set()
        # The former alone, by cluster and object.
        self.flagged: set[tuple[str, str]] = set()

    @property
    def flagged_hours(self) -> int:
        """Accelerator-hours trained twice by runs that plan had flagged."""
        return sum(self.clusters[where].twice[key] for where, key in self.flagged)

    def guardable(self, decl: Decl) -> bool:
        return self.guards and decl.guardable

    def expired(self, decl: Decl) -> bool:
        return decl.expires is not None and decl.expires <= self.hour

    # -- the story's own records

    def home(self, job: Job) -> Job:
        return self.joined.get(job, job)

    def learn_observed(self) -> None:
        by_key = {(record.cluster, record.key): record for record in self.records.values()}
        for seen in sorted(self.delivered, key=lambda observation: observation.at):
            for (team, name), what in seen.runs.items():
                record = by_key.get((seen.cluster, f"{team}/{name}"))
                if record is None or what.outcome == "running" or not record.launched:
                    continue
                if record.state == "active" and what.outcome != "incomplete":
                    record.state, record.reason, record.outcome = "ended", "finished", what.outcome
                elif record.state == "ended" and record.reason != "finished":
                    record.outcome = max(record.outcome, what.outcome, key=RANK.__getitem__)
        for record in self.records.values():
            if record.cluster in self.reset and record.state == "active":
                record.state, record.reason = "ended", "lost"

    def _with_runs(self, home: Job) -> bool:
        return any(record.job == home for record in self.records.values())

    def _members(self, home: Job) -> set[Job]:
        return {home, *(name for name, other in self.joined.items() if other == home)}

    def join_names(self) -> None:
        """What `was` joins; those that it cannot join are `contested`."""
        self.contested = set()
        groups: list[set[Job]] = [self._members(self.home(job)) for job in self.head]
        groups += [self._members(home) for home in {r.job for r in self.records.values()}]
        groups += [
            {job, (job[0], decl.was)}
            for job, decl in self.head.items()
            if decl.was is not None and not decl.broken
        ]
        merged: list[set[Job]] = []
        for group in groups:
            group = set(group)
            for other in [other for other in merged if other & group]:
                merged.remove(other)
                group |= other
            merged.append(group)
        # Names that are joined already bring their whole group.
        for group in merged:
            homes = {self.home(job) for job in group}
            with_runs = {home for home in homes if self._with_runs(home)}
            if len(group & set(self.head)) > 1 or len(with_runs) > 1:
                self.contested |= group
            elif len(group) > 1 and with_runs:
                self.joined |= dict.fromkeys(group, next(iter(with_runs)))

    def declared(self, home: Job) -> tuple[Job, Decl] | None:
        """The one declaration of a job, whatever its name is today."""
        return next(((job, d) for job, d in self.head.items() if self.home(job) == home), None)

    def _homes_of(self, ledgers: Mapping[Job, Ledger]) -> None:
        """A first run that a renamed job has brings its ledger under the name of today."""
        for key, ledger in ledgers.items():
            for other in ledger.also:
                self.joined[key[0], other] = key

    def account(self, before: Mapping[Job, Ledger], outcome: Outcome, withheld: bool) -> list[str]:
        """Bring the records up to date and hold every promise against them; what has moved."""
        must(set(before) <= set(outcome.ledgers), "a ledger is gone")
        self._homes_of(outcome.ledgers)
        started: list[Record] = []
        stopped: list[Record] = []
        moved: list[str] = []
        for key, ledger in outcome.ledgers.items():
            earlier = {run.number: run for run in before[key].runs} if key in before else {}
            must(earlier.keys() <= {run.number for run in ledger.runs}, "an entry is gone", key)
            for run in ledger.runs:
                self._entry(key, run, earlier, started, stopped, moved)
        notes = {
            (self.home((item.team, item.job)), item.decision.number): item.decision.notes
            for item in outcome.decisions
        }
        for item in outcome.decisions:
            row = item.decision.row
            self.counts.rows[row] = self.counts.rows.get(row, 0) + 1
        for record in started:
            self._may_start(record, stopped, notes.get((record.job, record.number), ()))
        for record in stopped:
            self._may_stop(record)
        self._one_at_a_time()
        self._quota(started)
        if withheld:
            for record in stopped:
                must(self._halted_run(record) or self._halted_job(record), "not withheld", record)
        else:
            self._nothing_left_out(stopped)
        return moved

    def _entry(
        self,
        key: Job,
        run: Entry,
        earlier: Mapping[int, Entry],
        started: list[Record],
        stopped: list[Record],
        moved: list[str],
    ) -> None:
        record = self.records.get((key, run.number))
        decl = self.texts[run.declared]
        if record is None:
            highest = max((n for job, n in self.records if job == key), default=0)
            must(run.number == highest + 1, f"{run.name} does not follow r{highest}")
            record = Record(
                key,
                run.number,
                run.cluster,
                run.name,
                decl.label,
                decl.way_of_running,
                decl.accelerators,
            )
            self.records[key, run.number] = record
            moved.append(f"{run.state} {run.name}")
            self.counts.holds += run.state == "held"
            must(run.state != "ended", "a run ended before it began", run.name)
            was = "new"
        else:
            was = record.state
        same = (run.cluster, decl.label, decl.way_of_running) == (
            record.cluster,
            record.label,
            record.way,
        )
        must(same, f"r{run.number} of {key} was used for something else")
        if run.number in earlier:
            old = earlier[run.number]
            digests = (old.training, old.operation)
            must(digests == (run.training, run.operation), run.name, "has new digests")
        if was in ("new", "held") and run.state == "active":
            started.append(record)
            record.state, record.name = "active", run.name
            record.guarded, record.folder = run.guarded, run.checkpoint_dir or ""
            record.image = run.inputs.get("image", "")
            record.image_name = run.inputs.get("image_name", "")
            record.spec = self._spec(record, decl, run)
            moved.append(f"starts {run.name}")
        elif was == "active" and run.state == "active":
            old = earlier[run.number]
            must(old == replace(run, training=old.training), run.name, "was changed")
        elif was != run.state and was != "new":
            must(run.state == "ended", run.name, "went from", was, "to", run.state)
            record.state, record.reason = "ended", run.reason
            moved.append(f"{run.reason} {run.name}")
            if was == "active":
                stopped.append(record)
        must(record.name == run.name, "renamed", run.name)
        must(record.outcome == run.outcome, run.name, record.outcome, "recorded as", run.outcome)
        must(record.state == run.state, run.name, "is", record.state, "not", run.state)
        if run.state == "ended":
            must(record.reason == run.reason, run.name, record.reason, "recorded as", run.reason)
            must(not run.listed or run.reason == "finished", run.name, "stays listed")
        else:
            must(run.listed == (run.state == "active"), run.name, "is listed wrongly")

    def _spec(self, record: Record, decl: Decl, run: Entry) -> Spec:
        return Spec(
            record.job[0],
            run.name,
            record.job[1],
            decl.label,
            decl.accelerators,
            decl.hours,
            record.folder,
            run.guarded,
            decl.fails_after,
            record.image,
            f"{run.declared} {sorted(run.inputs.items())}",
        )

    # -- the promises

    def _halted_run(self, record: Record) -> bool:
        """Whether a stop of policy covers a run."""
        return any(
            (halt.kind == "team" and halt.value == record.job[0])
            or (halt.kind == "image" and halt.value == record.image)
            or (halt.kind == "name" and halt.value == record.image_name)
            or (
                halt.kind == "run" and self._lineage(halt, record.job, record.cluster, record.label)
            )
            for halt in self.halts
        )

    def _lineage(self, halt: Halt, home: Job, cluster: str, label: str) -> bool:
        return any(
            record.key == halt.value
            and (record.job, record.cluster, record.label) == (home, cluster, label)
            for record in self.records.values()
        )

    def _halted_job(self, record: Record) -> bool:
        found = self.declared(record.job)
        return found is not None and self._halted(record.job, found[1], record.cluster, record)

    def _halted(self, home: Job, decl: Decl, cluster: str, active: Record | None) -> bool:
        """Whether a stop of policy covers what is declared."""
        if decl.broken or cluster not in decl.clusters:
            return False
        for halt in self.halts:
            if halt.kind == "team" and halt.value == home[0]:
                return True
            if halt.kind == "run" and self._lineage(halt, home, cluster, decl.label):
                return True
            today = halt.value == f"sha256:{decl.image}{self.lock}"
            if halt.kind == "name" and halt.value == decl.image:
                return True
            if halt.kind == "image" and today:
                # What runs with an older image goes on.
                runs = active is not None and active.image != halt.value
                if not (runs and active is not None and self._is(active, decl)):
                    return True
        return False

    @staticmethod
    def _is(record: Record, decl: Decl) -> bool:
        return (record.label, record.way) == (decl.label, decl.way_of_running)

    def _of(self, home: Job, cluster: str, state: str) -> list[Record]:
        return [
            record
            for record in self.records.values()
            if (record.job, record.cluster, record.state) == (home, cluster, state)
        ]

    def _follows(
        self, home: Job, decl: Decl, cluster: str, stopped: list[Record], but: int | None = None
    ) -> str:
        """What may follow for this training here: `new`, `on`, or nothing, ''."""
        of_label = [
            record
            for record in self.records.values()
            if record.job == home
            and record.label == decl.label
            and record.launched
            and record.number != but
        ]
        here = [record for record in of_label if record.cluster == cluster]
        for record in of_label:
            if record.outcome == "succeeded" and (
                record.cluster == cluster or record.cluster not in decl.clusters
            ):
                return ""
        if not here:
            return "new"
        last = max(here, key=lambda record: record.number)
        if last.outcome == "failed":
            again = any(r.way == decl.way_of_running and r.outcome == "failed" for r in here)
            return "" if again else "on"
        marked = last.guarded and self.guardable(decl)
        superseded = any(r is last and r.reason == "superseded" for r in stopped)
        return "on" if last.outcome == "incomplete" or marked or superseded else ""

    def _may_start(self, record: Record, stopped: list[Record], notes: Iterable[str]) -> None:
        """Promises 1, 2 and 4: only what is declared, never ran to its end, and is free to."""
        found = self.declared(record.job)
        must(found is not None, record.name, "starts, and nothing declares it")
        assert found is not None
        job, decl = found
        where = record.cluster
        must(job not in self.contested and not decl.broken, record.name, "starts, unusable")
        must(not decl.stopped and not self.expired(decl), record.name, "starts, ended")
        must(where in decl.clusters, record.name, "starts where it is not wanted")
        must(decl.accelerators <= self.cap, record.name, "starts, refused")
        must(self._is(record, decl), record.name, "is not what is declared")
        must(not self._halted(record.job, decl, where, None), record.name, "starts, halted")
        must(not self._halted_run(record), record.name, "starts with what is halted")
        follows = self._follows(record.job, decl, where, stopped, record.number)
        must(follows != "", record.name, "starts again")
        folders = {
            other.folder: other.label
            for other in self.records.values()
            if other is not record and other.launched
        }
        if follows == "new":
            must(record.folder not in folders, record.name, "starts in a folder of another")
            self.counts.starts += 1
            return
        must(folders.get(record.folder) == record.label, record.name, "goes on nowhere")
        self.counts.resumes += 1
        unseen = [
            other
            for other in self.records.values()
            if (other.job, other.cluster, other.label) == (record.job, where, record.label)
            and other.launched
            and other is not record
            and other.outcome == "unknown"
            and not (other.guarded and record.guarded)
        ]
        if unseen:
            must(any("unobserved" in note for note in notes), record.name, "is not flagged")
            self.excused.add(f"{where} {record.key}")
            self.flagged.add((where, record.key))

    def _may_stop(self, record: Record) -> None:
        """Promise 2: no run is stopped that is what is declared, or whose file is broken."""
        self.counts.stops += 1
        if record.reason == "lost":
            must(record.cluster in self.reset, record.name, "lost")
            return
        found = self.declared(record.job)
        if self._halted_run(record):
            must(record.reason == "stopped", record.name, "was halted, not", record.reason)
            return
        if found is None:
            must(record.job not in self.contested, record.name, "stops, contested")
            must(record.reason == "removed", record.name, "is gone, not", record.reason)
            return
        job, decl = found
        if self._halted(record.job, decl, record.cluster, record):
            must(record.reason == "stopped", record.name, "was halted, not", record.reason)
            return
        must(job not in self.contested and not decl.broken, record.name, "stops, unusable")
        must(decl.accelerators <= self.cap, record.name, "stops, and its edit is refused")
        if record.reason == "superseded":
            must(not self._is(record, decl), record.name, "stops, and it is what is declared")
        must(
            record.reason
            == (
                "stopped"
                if decl.stopped
                else "expired"
                if self.expired(decl)
                else "removed"
                if record.cluster not in decl.clusters
                else "superseded"
            ),
            record.name,
            "stops for the wrong reason",
            record.reason,
        )

    def _one_at_a_time(self) -> None:
        seen: set[tuple[Job, str, str]] = set()
        for record in self.records.values():
            if record.state != "ended":
                place = (record.job, record.cluster, record.state)
                must(place not in seen, "two at a time of", place)
                seen.add(place)

    def _held(self, cluster: str, team: str | None) -> int:
        return sum(
            record.accelerators
            for record in self.records.values()
            if record.state == "active"
            and record.cluster == cluster
            and (team is None or record.job[0] == team)
        )

    def _quota(self, started: list[Record]) -> None:
        """Promise 6."""
        for record in started:
            team, where = record.job[0], record.cluster
            must(record.accelerators <= self.quota[team], record.name, "is above the quota")
            if where == "west":
                must(self._held(where, team) <= self.quota[team], team, "is above its quota")
                must(self._held(where, None) <= CAPACITY[where], where, "is overfull")
            count = len([r for r in self._active(where) if r.job[0] == team])
            must(team != "a" or count <= 3, team, "has too many runs")

    def _active(self, cluster: str) -> list[Record]:
        return [r for r in self.records.values() if (r.cluster, r.state) == (cluster, "active")]

    def _fits(self, team: str, decl: Decl, cluster: str, active: Record | None) -> bool:
        wanted = decl.accelerators
        if wanted > min(self.quota[team], CAPACITY[cluster]):
            return False
        back = active.accelerators if active is not None else 0
        count = len([r for r in self._active(cluster) if r.job[0] == team and r is not active])
        if team == "a" and count + 1 > 3:
            return False
        if cluster == "east":
            return True
        return (
            self._held(cluster, team) - back + wanted <= self.quota[team]
            and self._held(cluster, None) - back + wanted <= CAPACITY[cluster]
        )

    def _nothing_left_out(self, stopped: list[Record]) -> None:
        """Promise 1, and that what is to end has ended."""
        homes = {self.home(job) for job in self.head} | {r.job for r in self.records.values()}
        for home in homes:
            found = self.declared(home)
            for cluster in CLUSTERS:
                active = next(iter(self._of(home, cluster, "active")), None)
                held = next(iter(self._of(home, cluster, "held")), None)
                if active is not None:
                    must(not self._halted_run(active), active.name, "is halted, and runs")
                if found is None:
                    if not self._members(home) & self.contested:
                        must(active is None and held is None, home, "is gone, and goes on")
                    continue
                job, decl = found
                if job in self.contested or decl.broken:
                    continue
                if self._halted(home, decl, cluster, active):
                    must(active is None and held is None, home, "is halted, and goes on")
                    continue
                if decl.accelerators > self.cap:
                    continue
                wanted = not decl.stopped and not self.expired(decl) and cluster in decl.clusters
                if not wanted:
                    must(active is None and held is None, home, "is not wanted, and goes on")
                    continue
                self._done_as_declared(home, decl, cluster, active, held, stopped)

    def _done_as_declared(
        self,
        home: Job,
        decl: Decl,
        cluster: str,
        active: Record | None,
        held: Record | None,
        stopped: list[Record],
    ) -> None:
        if active is not None and self._is(active, decl):
            must(held is None, home, "holds what nothing declares")
            return
        as_if = [*stopped]
        reason = None
        if active is not None:
            # What would follow if it were superseded now?
            reason, active.reason, active.state = active.reason, "superseded", "ended"
            as_if.append(active)
        follows = self._follows(home, decl, cluster, as_if)
        if active is not None:
            active.reason, active.state = reason, "active"
        if not follows:
            must(active is None, home, "runs what is not declared")
            must(held is None, home, "waits for what will not start")
            return
        must(not self._fits(home[0], decl, cluster, active), home, "fits, and does not start")
        must(held is not None and self._is(held, decl), home, "does not fit, and is not held")

    def look_at_the_world(self) -> None:
        """What the clusters show: nobody trains twice unless plan said it might."""
        for name, cluster in self.clusters.items():
            must(cluster.torn == 0, "a run was torn")
            if name == "west":
                must(cluster.holds <= CAPACITY[name], "west runs more than it has")
            for key, count in cluster.created.items():
                if count > 1:
                    self.excused.add(f"{name} {key}")
            for key, hours in cluster.twice.items():
                must(not hours or f"{name} {key}" in self.excused, key, "trained again on", name)
