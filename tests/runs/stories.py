"""One history, played: people, git, the platform team, clusters. What publish does is left open."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from scripts import INERT, Step
from world import Cluster, Spec

Job = tuple[str, str]
CLUSTERS = ("west", "east")
CAPACITY = {"west": 16, "east": 8}
SIZES = (2, 4, 8)


@dataclass(frozen=True, slots=True)
class Decl:
    """A declaration as a person thinks of it. `count` is what people bump in a design of names
    with a counter; ours does not see it."""

    learn: int = 1
    rerun: int = 0
    image: str = "sft"
    come_from: int | None = None
    size: int = 4
    way: int = 0
    note: int = 0
    stopped: bool = False
    expires: int | None = None
    clusters: tuple[str, ...] = ("west",)
    broken: bool = False
    was: str | None = None
    count: int = 1

    @property
    def label(self) -> str:
        """What is learned."""
        return f"{self.learn}.{self.rerun}.{self.image}.{self.come_from}"

    @property
    def way_of_running(self) -> str:
        return f"{self.size}.{self.way}"

    @property
    def accelerators(self) -> int:
        """At the most: one of the ways is elastic, up to twice the size."""
        return self.size * (2 if self.way == 3 else 1)

    @property
    def hours(self) -> int:
        return 3 + self.learn * 5 % 14

    @property
    def fails_after(self) -> int | None:
        """Some trainings break half-way, unless they are run in another way."""
        return self.hours // 2 if self.learn % 3 == 0 and self.way % 2 == 0 else None

    @property
    def guardable(self) -> bool:
        return self.learn % 2 == 0

    @property
    def text(self) -> str:
        return text(self)


@cache
def text(decl: Decl) -> str:
    """The file; what people count elsewhere is not in it."""
    return repr(replace(decl, count=0))


@dataclass(frozen=True, slots=True)
class Halt:
    """A file of `policy/stops/`."""

    kind: str
    value: str


Head = Mapping[Job, Decl]


class Story:
    """People, git, policy and clusters. A design adds `publish`."""

    create_once = True
    ttl: int | None = None

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.hour = 0
        self.clusters = {
            name: Cluster(
                name,
                random.Random(seed + 1),
                CAPACITY[name] if name == "east" else None,
                self.create_once,
                self.ttl,
            )
            for name in CLUSTERS
        }
        self.head: dict[Job, Decl] = {
            ("a", "x"): Decl(1 + seed % 5),
            ("a", "y"): Decl(
                2 + seed % 3, clusters=("west", "east") if seed % 4 == 0 else ("west",)
            ),
            ("b", "z"): Decl(4 + seed % 4, size=8),
        }
        self.commits: list[dict[Job, Decl]] = [{}, dict(self.head)]
        self.rank = dict.fromkeys(self.head, 1)
        self.cap = 16
        self.quota = {"a": 12, "b": 8}
        # Some begin where room is short.
        if seed % 8 in (3, 4):
            self.head["a", "y"] = replace(self.head["a", "y"], size=8)
            self.head["b", "w"] = Decl(5 + seed % 3, size=4)
            self.commits[1] = dict(self.head)
            self.rank["b", "w"] = 1
        self.halts: list[Halt] = []
        self.base = self.lock = self.compiler = 0
        self.guards = True
        # The tree of overlays at the tip, and the tombstones in it, by cluster.
        self.trees: dict[str, dict[str, dict[str, Spec]]] = {name: {} for name in CLUSTERS}
        self.tombstones: dict[str, set[str]] = {name: set() for name in CLUSTERS}
        self.inert = False
        self.done: list[Step] = []

    def play(self, steps: list[Step]) -> None:
        for step in steps:
            self.apply(step)

    def apply(self, step: Step) -> None:
        """One step; `inert` stays true while nothing has happened that may start or stop a run."""
        self.done.append(step)
        name, a, b = step
        if name not in INERT and name not in ("publish", "sync", "observe"):
            self.inert = False
        getattr(self, f"do_{name}")(a, b)

    # -- people edit declarations

    def _job(self, a: int) -> Job | None:
        keys = sorted(self.head)
        return keys[a % len(keys)] if keys else None

    def _edit(self, a: int, **changes: object) -> None:
        job = self._job(a)
        if job is not None:
            self._commit({**self.head, job: replace(self.head[job], **changes)})  # type: ignore[arg-type]

    def _commit(self, head: dict[Job, Decl]) -> None:
        for job, decl in head.items():
            old = self.head.get(job)
            if old is None or (old.label, old.way_of_running) != (decl.label, decl.way_of_running):
                self.rank[job] = len(self.commits)
        self.head = head
        self.commits.append(dict(head))

    def do_learn(self, a: int, b: int) -> None:
        job = self._job(a)
        if job is not None:
            self._edit(a, learn=1 + b % 9, count=self.head[job].count + 1)

    def do_way(self, a: int, b: int) -> None:
        self._edit(a, way=b % 4)

    def do_size(self, a: int, b: int) -> None:
        job = self._job(a)
        if job is not None:
            others = [size for size in SIZES if size != self.head[job].size]
            self._edit(a, size=others[b % 2])

    def do_image(self, a: int, b: int) -> None:
        job = self._job(a)
        if job is not None:
            self._edit(a, image=("sft", "eval")[b % 2], count=self.head[job].count + 1)

    def do_note(self, a: int, b: int) -> None:
        self._edit(a, note=b)

    def do_broken(self, a: int, b: int) -> None:
        job = self._job(a)
        if job is not None:
            # A broken file is often broken in the same commit that edits it.
            learn = 1 + b % 9 if b % 3 == 0 else self.head[job].learn
            self._edit(a, broken=not self.head[job].broken, learn=learn)

    def do_remove(self, a: int, b: int) -> None:
        job = self._job(a)
        self._commit({key: decl for key, decl in self.head.items() if key != job})

    def do_add(self, a: int, b: int) -> None:
        job = (("a", "x"), ("a", "y"), ("b", "z"), ("b", "w"))[a % 4]
        if job not in self.head:
            self._commit({**self.head, job: Decl(1 + b % 9, size=SIZES[b % 3])})

    def do_state(self, a: int, b: int) -> None:
        job = self._job(a)
        if job is not None:
            self._edit(a, stopped=not self.head[job].stopped)

    def do_expires(self, a: int, b: int) -> None:
        self._edit(a, expires=(None, self.hour + b % 20, self.hour - 1)[b % 3])

    def do_move(self, a: int, b: int) -> None:
        self._edit(a, clusters=(("west",), ("east",), ("west", "east"))[b % 3])

    def do_rerun(self, a: int, b: int) -> None:
        job = self._job(a)
        if job is not None:
            decl = self.head[job]
            self._edit(a, rerun=decl.rerun + 1, count=decl.count + 1)

    def do_from(self, a: int, b: int) -> None:
        job = self._job(a)
        if job is not None:
            self._edit(a, come_from=1 + b % 3, count=self.head[job].count + 1)

    def do_rename(self, a: int, b: int) -> None:
        self._renamed(a, b, keep=False)

    def do_copy(self, a: int, b: int) -> None:
        self._renamed(a, b, keep=True)

    def _renamed(self, a: int, b: int, *, keep: bool) -> None:
        job = self._job(a)
        if job is None:
            return
        new = (job[0], f"{job[1][0]}{'nm'[b % 2]}")
        if new == job:
            new = (job[0], job[1][0])
        if new in self.head and not keep:
            return
        head = dict(self.head)
        head[new] = replace(self.head[job], was=job[1])
        if not keep:
            del head[job]
        self._commit(head)

    # -- they take things back

    def do_revert(self, a: int, b: int) -> None:
        """Undo one earlier commit: what it changed is as it was before."""
        at = 2 + a % (len(self.commits) - 1)
        if at >= len(self.commits):
            return
        before, after = self.commits[at - 1], self.commits[at]
        head = dict(self.head)
        for job in {*before, *after}:
            if before.get(job) != after.get(job):
                head.pop(job, None)
                if job in before:
                    head[job] = before[job]
        self._commit(head)

    def do_rewind(self, a: int, b: int) -> None:
        """All declarations as they were at an earlier commit."""
        self._commit(dict(self.commits[1 + a % (len(self.commits) - 1)]))

    def do_unpublish(self, a: int, b: int) -> None:
        """A publish commit is reverted; only some designs have any."""

    # -- the platform team

    def do_cap(self, a: int, b: int) -> None:
        self.cap = (16, 8, 4)[b % 3]

    def do_quota(self, a: int, b: int) -> None:
        self.quota["ab"[a % 2]] = (4, 8, 12, 16)[b % 4]

    def do_base(self, a: int, b: int) -> None:
        self.base += 1

    def do_lock(self, a: int, b: int) -> None:
        self.lock += 1
        # The way out of a stopped image is another digest.
        self.inert &= not self.halts

    def do_compiler(self, a: int, b: int) -> None:
        self.compiler += 1

    def do_guards(self, a: int, b: int) -> None:
        """Images learn, or forget, to leave a marker when they are done."""
        self.guards = not self.guards

    def do_halt(self, a: int, b: int) -> None:
        kind = ("run", "run", "run", "team", "image", "image", "image", "name")[b % 8]
        value = {
            "team": "ab"[a % 2],
            "image": f"sha256:{('sft', 'sft', 'eval')[a % 3]}{max(0, self.lock - a // 3 % 2)}",
            "name": ("sft", "eval")[a % 2],
            "run": self.some_run(a),
        }[kind]
        self.halts.append(Halt(kind, value))

    def some_run(self, a: int) -> str:
        return "a/x-r1"

    def do_unhalt(self, a: int, b: int) -> None:
        if self.halts:
            del self.halts[a % len(self.halts)]

    # -- clusters and time

    def do_sync(self, a: int, b: int) -> None:
        for name, cluster in self.clusters.items():
            cluster.sync(self.trees[name], self.tombstones[name])

    def do_hours(self, a: int, b: int) -> None:
        self.hour += a
        for cluster in self.clusters.values():
            cluster.tick(a)

    def do_wait(self, a: int, b: int) -> None:
        """Long enough for what runs to end, and at times for what has ended to be cleaned up."""
        self.do_hours((24, 48, 80)[b % 3], 0)

    def do_wipe(self, a: int, b: int) -> None:
        self.clusters[CLUSTERS[a % 2]].wipe()

    def do_reset(self, a: int, b: int) -> None:
        self.do_wipe(a, b)

    # -- what only a design with a ledger knows

    def do_publish(self, a: int, b: int) -> None:
        raise NotImplementedError

    def do_hand(self, a: int, b: int) -> None:
        """Overlays are changed by hand."""

    def do_race(self, a: int, b: int) -> None:
        """A publish loses its race: what it made is thrown away."""

    def do_guarded(self, a: int, b: int) -> None:
        """A publish with a stop guard."""
        self.do_publish(a, b)

    def do_observe(self, a: int, b: int) -> None:
        """Somebody looks at a cluster; some of it may be missing."""

    def do_deliver(self, a: int, b: int) -> None:
        """Observations come in: all, the newest alone, an old one again, or they are lost."""

    def do_look(self, a: int, b: int) -> None:
        """Somebody looks at all clusters and says at once what is there."""

    def do_told(self, a: int, b: int) -> None:
        """A person says how a run ended that nobody has observed."""
