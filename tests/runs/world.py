"""A syncer, a cluster and its pods, as far as they decide what trains how often.

An oracle: it imports nothing of the compiler. Objects are what a tree lists; the syncer creates
what is listed and absent and prunes what is live and unlisted; pods train for simulated hours and
keep checkpoints in folders that outlive the cluster. Every accelerator-hour goes into the accounts.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

CHECKPOINT_EVERY = 4


class Broken(AssertionError):
    """The world has seen what must never happen."""


@dataclass(frozen=True, slots=True)
class Spec:
    """One object as a tree lists it: whose training it is, and how long that takes.

    `payload` stands for its bytes. `fails_after` is the hour of the training at which this way of
    running it breaks, for ever.
    """

    team: str
    name: str
    job: str
    training: str
    accelerators: int
    hours: int
    folder: str
    guarded: bool = False
    fails_after: int | None = None
    image: str = ""
    payload: str = ""


@dataclass(slots=True)
class Folder:
    """A checkpoint folder: whose checkpoint is in it, how far that is, and the marker."""

    training: str
    saved: int = 0
    complete: bool = False


@dataclass(slots=True)
class Live:
    """An object in the cluster, and how far its pods are."""

    spec: Spec
    state: str = "queued"
    at: int = 0
    torn: bool = False
    ended_for: int = 0


@dataclass(slots=True)
class Account:
    """How far a training has ever come on a cluster, and whether it was done."""

    best: int = 0
    done: bool = False


@dataclass(slots=True)
class Cluster:
    """One cluster. `queue` is what its own queue admits at a time; None: pods start at once."""

    name: str
    rng: random.Random
    queue: int | None = None
    # The syncer leaves live objects as they are (ours), or edits them in place.
    create_once: bool = True
    # Hours after which a finished object is deleted by its own time to live.
    ttl: int | None = None
    live: dict[str, Live] = field(default_factory=dict[str, Live])
    tombstones: set[str] = field(default_factory=set[str])
    folders: dict[str, Folder] = field(default_factory=dict[str, Folder])
    accounts: dict[tuple[str, str, str], Account] = field(
        default_factory=dict[tuple[str, str, str], Account]
    )
    created: Counter[str] = field(default_factory=Counter[str])
    # How each object was when it went away.
    went: dict[str, str] = field(default_factory=dict[str, str])
    useful: int = 0
    twice: Counter[str] = field(default_factory=Counter[str])
    torn: int = 0
    lost: int = 0
    refusals: int = 0

    def sync(self, tree: Mapping[str, Mapping[str, Spec]], tombstones: Iterable[str]) -> None:
        """Obey a tree: tombstones first, they are never pruned; then each team by itself.

        One refused object keeps the whole team's part from being applied and pruned.
        """
        self.tombstones.update(tombstones)
        for team in sorted({*tree, *(live.spec.team for live in self.live.values())}):
            listed = {f"{team}/{name}": spec for name, spec in tree.get(team, {}).items()}
            absent = [key for key in listed if key not in self.live]
            if any(key in self.tombstones for key in absent):
                self.refusals += 1
                continue
            own = [key for key, live in self.live.items() if live.spec.team == team]
            for key in own:
                if key not in listed:
                    self._delete(key)
                elif not self.create_once and self.live[key].spec != listed[key]:
                    self._edit(self.live[key], listed[key])
            for key in absent:
                self._create(key, listed[key])

    def tick(self, hours: int) -> None:
        """Let time pass."""
        self._admit()
        for key, live in list(self.live.items()):
            if live.state == "running":
                self._train(key, live, hours)
            if live.state in ("succeeded", "failed"):
                live.ended_for += hours
                if self.ttl is not None and live.ended_for >= self.ttl:
                    del self.live[key]

    def seen(self) -> dict[str, str]:
        """What somebody who looks sees of each object."""
        return {
            key: "running" if live.state == "queued" else live.state
            for key, live in self.live.items()
        }

    def wipe(self) -> None:
        """The cluster is rebuilt, empty; the folders are on storage of their own."""
        for key, live in self.live.items():
            self._interrupt(live, last_checkpoint=False)
            self._went(key, live)
        self.live.clear()
        self.tombstones.clear()

    @property
    def holds(self) -> int:
        """Accelerators under running pods."""
        return sum(live.spec.accelerators for live in self.live.values() if live.state == "running")

    def _create(self, key: str, spec: Spec) -> None:
        if key in self.tombstones:
            raise Broken(f"{key} was created on {self.name} over its tombstone")
        self.created[key] += 1
        folder = self.folders.get(spec.folder)
        live = self.live[key] = Live(spec)
        if folder is None or folder.training != spec.training:
            self.folders[spec.folder] = Folder(spec.training)
        elif spec.guarded and folder.complete:
            live.state, live.at = "succeeded", spec.hours
        else:
            # Without a guard a program that finds its last checkpoint of all begins anew.
            live.at = folder.saved if folder.saved < spec.hours else 0
        self._admit()

    def _delete(self, key: str) -> None:
        live = self.live.pop(key)
        self._interrupt(live, last_checkpoint=live.spec.guarded or self.rng.random() < 0.7)
        self._went(key, live)

    def _went(self, key: str, live: Live) -> None:
        self.went[key] = live.state if live.state in ("succeeded", "failed") else "incomplete"

    def _edit(self, live: Live, spec: Spec) -> None:
        """The template changes under pods: a restarted rank runs something else than the others."""
        if live.state == "running" and live.spec.payload != spec.payload:
            live.torn = True
        if live.state in ("queued", "running"):
            live.spec = spec

    def _interrupt(self, live: Live, *, last_checkpoint: bool) -> None:
        folder = self.folders.get(live.spec.folder)
        if live.state != "running" or folder is None or folder.training != live.spec.training:
            return
        folder.saved = live.at if last_checkpoint else live.at - live.at % CHECKPOINT_EVERY

    def _admit(self) -> None:
        for live in self.live.values():
            if live.state == "queued" and (
                self.queue is None or self.holds + live.spec.accelerators <= self.queue
            ):
                live.state = "running"

    def _train(self, key: str, live: Live, hours: int) -> None:
        spec = live.spec
        breaks = spec.fails_after is not None and spec.fails_after < spec.hours
        end = spec.fails_after if breaks and spec.fails_after is not None else spec.hours
        trained = max(0, min(hours, end - live.at))
        account = self.accounts.setdefault((spec.team, spec.job, spec.training), Account())
        cost = spec.accelerators
        if live.torn:
            self.torn += trained * cost
        elif account.done:
            self.twice[key] += trained * cost
        else:
            again = max(0, min(trained, account.best - live.at))
            self.lost += again * cost
            self.useful += (trained - again) * cost
        live.at += trained
        if not live.torn:
            account.best = max(account.best, live.at)
        if live.at < end:
            return
        live.state = "failed" if breaks else "succeeded"
        folder = self.folders.setdefault(spec.folder, Folder(spec.training))
        folder.training, folder.saved = spec.training, live.at
        if not breaks:
            account.done = account.done or not live.torn
            folder.complete = folder.complete or spec.guarded
