"""Our design, played: what the compiler is told, and the tree, ledgers and tombstones in git."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from types import ModuleType

from promises import Counts, Promises, must
from stories import CAPACITY, CLUSTERS, Decl, Job
from world import Spec

from compiler.runs import fold as real_fold
from compiler.runs import union as real_union
from compiler.runs.declared import Declared, Facts, StopNow, Target
from compiler.runs.entries import Ledger
from compiler.runs.observations import Observation, Observed
from compiler.runs.room import Limits, Room

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
KEEP = 72
Trees = dict[str, dict[str, dict[str, Spec]]]
Tombstones = dict[str, set[str]]


class Ledgered(Promises):
    """Our design. `fold` and `union` may be mutants of the compiler's modules."""

    def __init__(
        self,
        seed: int,
        fold: ModuleType = real_fold,
        union: ModuleType = real_union,
        counts: Counts | None = None,
    ) -> None:
        super().__init__(seed, counts)
        self.fold, self.union = fold.fold, union.union
        self.published: list[dict[Job, Ledger]] = []
        self.trees_published: list[tuple[Trees, Tombstones]] = []
        self.ledgers: dict[Job, Ledger] = {}
        self.torn_off = False
        self.pending: list[Observation] = []
        self.old: list[Observation] = []
        self.fresh = random.Random(seed + 2)

    # -- what the compiler is told

    def digests(self, decl: Decl) -> tuple[str, str]:
        """Another compiler has other digests for the same."""
        return f"t{self.compiler}:{decl.label}", f"o{self.compiler}:{decl.way_of_running}"

    def told(self) -> list[Declared]:
        made: list[Declared] = []
        for (team, name), decl in self.head.items():
            path = f"jobs/{team}/{name}.yaml"
            order = (self.rank[team, name], path)
            if decl.broken:
                made.append(Declared(team, name, path, unusable="does not parse", order=order))
                continue
            training, operation = self.digests(decl)
            self.texts[decl.text] = decl
            target = Target(
                training,
                operation,
                {"H100": decl.accelerators},
                guarded=self.guardable(decl),
                resume_from=decl.come_from,
                image=f"sha256:{decl.image}{self.lock}",
                image_name=decl.image,
                checkpoint_root="/ckpt",
                refused="above the cap" if decl.accelerators > self.cap else "",
            )
            made.append(
                Declared(
                    team,
                    name,
                    path,
                    decl.text,
                    decl.clusters,
                    dict.fromkeys(decl.clusters, target),
                    decl.stopped,
                    self.expired(decl),
                    was=decl.was,
                    order=order,
                )
            )
        return made

    def same(self, ledgers: Mapping[Job, Ledger]) -> dict[tuple[Job, int], tuple[str, str]]:
        return {
            (key, run.number): self.digests(self.texts[run.declared])
            for key, ledger in ledgers.items()
            for run in ledger.runs
        }

    def room(self) -> Room:
        return Room(
            {
                name: Limits(
                    {"H100": CAPACITY[name]},
                    {team: {"H100": amount} for team, amount in self.quota.items()},
                    {"a": 3},
                    waits=name == "east",
                )
                for name in CLUSTERS
            }
        )

    def facts(self, reset: Iterable[str] = ()) -> Facts:
        return Facts(
            BEGIN + timedelta(hours=self.hour),
            f"c{len(self.commits)}",
            timedelta(hours=KEEP),
            f"v{self.compiler}",
            {(job, name): f"b{self.base}" for job in self.head for name in CLUSTERS},
            frozenset(reset),
        )

    def stops(self) -> list[StopNow]:
        names = {"run": "run", "team": "team", "image": "image", "name": "image"}
        return [StopNow("halt", **{names[halt.kind]: halt.value}) for halt in self.halts]  # type: ignore[arg-type]

    def folded(
        self,
        ledgers: Mapping[Job, Ledger],
        *,
        reset: Iterable[str] = (),
        share: Fraction | None = None,
    ) -> real_fold.Outcome:
        return self.fold(
            ledgers,
            self.told_now,
            self.delivered,
            self.stops(),
            self.room(),
            self.facts(reset),
            self.same(ledgers) if self.compiler else None,
            stop_guard=share,
        )

    # -- publish

    def do_publish(self, a: int, b: int) -> None:
        self._publish(None)

    def do_guarded(self, a: int, b: int) -> None:
        self._publish(Fraction(1 + b % 3, 4))

    def do_race(self, a: int, b: int) -> None:
        self.told_now = self.told()
        self.folded(self.ledgers)

    def _publish(self, share: Fraction | None) -> None:
        before = self._in_force()
        self.told_now = self.told()
        kept = dict(before)
        outcome = self.folded(before, reset=self.reset, share=share)
        must(before == kept, "publish changed what it was given")
        if self.fresh.random() < 0.2:
            plan = self.folded(before, reset=self.reset, share=share)
            must(plan.decisions == outcome.decisions, "plan and publish say different things")
            must(plan.ledgers == outcome.ledgers, "plan and publish do different things")
        self.learn_observed()
        self.join_names()
        withheld = outcome.guard is not None and outcome.guard.withheld
        moved = self.account(before, outcome, withheld)
        self._write(outcome.ledgers)
        self.reset.clear()
        again = self.folded(outcome.ledgers, share=share)
        must(again.ledgers == outcome.ledgers, "a publish done twice does something more")
        must(not (self.inert and moved), "nothing happened that may start or stop a run:", moved)
        self.delivered = []
        self.inert = not withheld
        self.counts.publishes += 1

    def _in_force(self) -> dict[Job, Ledger]:
        """The union over what every publish commit wrote, reverted or not."""
        if not self.torn_off:
            return self.ledgers
        every: dict[Job, list[Ledger]] = {}
        for ledgers in self.fresh.sample(self.published, len(self.published)):
            for key, ledger in ledgers.items():
                every.setdefault(key, []).append(ledger)
        united = {key: self.union(ledgers) for key, ledgers in every.items()}
        must(united == self.ledgers, "the union has lost something")
        self.torn_off = False
        return united

    def _write(self, ledgers: dict[Job, Ledger]) -> None:
        self.ledgers = {key: ledger for key, ledger in ledgers.items() if ledger.runs}
        self.published.append(self.ledgers)
        self.trees = {name: {} for name in CLUSTERS}
        self.tombstones = {name: set() for name in CLUSTERS}
        for (team, _), ledger in self.ledgers.items():
            for run in ledger.runs:
                record = self.records[(team, ledger.job), run.number]
                if run.listed:
                    assert record.spec is not None
                    self.trees[run.cluster].setdefault(team, {})[run.name] = record.spec
                if run.state == "ended" and run.reason != "withdrawn":
                    self.tombstones[run.cluster].add(f"{team}/{run.name}")
        self.trees_published.append((self.trees, self.tombstones))

    def do_unpublish(self, a: int, b: int) -> None:
        """A publish commit is reverted: the tree, tombstones and all, goes back."""
        if len(self.published) < 2:
            return
        back = 2 + a % min(3, len(self.published) - 1)
        trees, tombstones = self.trees_published[-back]
        self.trees = trees
        self.tombstones = tombstones
        self.torn_off = True

    def do_hand(self, a: int, b: int) -> None:
        """A run is taken off the list, put back on it, or its bytes are changed."""
        launched = [record for record in self.records.values() if record.spec is not None]
        if not launched:
            return
        record = launched[a % len(launched)]
        assert record.spec is not None
        self.trees = {
            name: {team: dict(listed) for team, listed in tree.items()}
            for name, tree in self.trees.items()
        }
        own = self.trees[record.cluster].setdefault(record.job[0], {})
        if b % 3 == 0:
            own.pop(record.name, None)
        elif b % 3 == 1:
            own[record.name] = record.spec
        else:
            own[record.name] = replace(record.spec, payload="by hand", hours=1)
        self.torn_off = True

    # -- observations

    def do_observe(self, a: int, b: int) -> None:
        cluster = self.clusters[CLUSTERS[a % 2]]
        seen = cluster.seen()
        complete = b % 4 != 0
        if not complete:
            seen = {key: state for key, state in seen.items() if self.fresh.random() < 0.5}
        self.pending.append(self._observation(cluster.name, seen, complete))

    def _observation(self, cluster: str, seen: Mapping[str, str], complete: bool) -> Observation:
        runs = {
            tuple(key.split("/")): Observed(state)  # type: ignore[arg-type]
            for key, state in seen.items()
        }
        at = (BEGIN + timedelta(hours=self.hour)).isoformat()
        return Observation(cluster, at, complete, runs)  # type: ignore[arg-type]

    def do_deliver(self, a: int, b: int) -> None:
        how = a % 8
        if how == 0:
            self.pending.clear()
        elif how == 1 and self.old:
            self.delivered.append(self.old[b % len(self.old)])
        elif how == 2:
            self.delivered += self.pending[-1:]
        else:
            self.delivered += reversed(self.pending) if how == 3 else self.pending
            self.old += self.pending
            self.pending = []

    def do_look(self, a: int, b: int) -> None:
        for cluster in self.clusters.values():
            self.delivered.append(self._observation(cluster.name, cluster.seen(), complete=True))

    def do_told(self, a: int, b: int) -> None:
        ended = [
            record
            for record in self.records.values()
            if record.state == "ended"
            and record.outcome == "unknown"
            and record.key in self.clusters[record.cluster].went
            and record.key not in self.clusters[record.cluster].live
        ]
        if ended:
            record = ended[a % len(ended)]
            went = self.clusters[record.cluster].went[record.key]
            self.delivered.append(
                self._observation(record.cluster, {record.key: went}, complete=False)
            )

    def do_reset(self, a: int, b: int) -> None:
        self.do_wipe(a, b)
        self.reset.add(CLUSTERS[a % 2])

    def do_sync(self, a: int, b: int) -> None:
        refused = sum(cluster.refusals for cluster in self.clusters.values())
        super().do_sync(a, b)
        self.counts.refusals += sum(c.refusals for c in self.clusters.values()) - refused
        self.look_at_the_world()

    def do_hours(self, a: int, b: int) -> None:
        super().do_hours(a, b)
        self.look_at_the_world()

    def some_run(self, a: int) -> str:
        launched = [record for record in self.records.values() if record.launched]
        return launched[a % len(launched)].key if launched else "a/x-r1"
