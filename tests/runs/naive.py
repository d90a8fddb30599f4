"""Three designs that real repositories use, played through the same histories as ours.

Each renders the declarations of the moment into objects and lets the syncer do the rest. They
differ in the objects' names. In all of them a job has one checkpoint folder.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from stories import CAPACITY, CLUSTERS, Decl, Job, Story
from world import Spec


class Naive(Story):
    """No ledger: what is listed is what is declared now."""

    title: str
    report: str
    create_once = False

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        for name, cluster in self.clusters.items():
            # The scheduler makes pods wait where the cluster is full.
            cluster.queue = CAPACITY[name]
        self.roots: dict[Job, str] = {}

    def name(self, job: Job, decl: Decl) -> str:
        """The object's name."""
        raise NotImplementedError

    def content(self, decl: Decl) -> str:
        """What reaches the object: the declaration, the base, the image's digest, the compiler."""
        parts = decl.label, decl.way_of_running, self.base, self.lock, self.compiler
        return " ".join(str(part) for part in parts)

    def do_publish(self, a: int, b: int) -> None:
        if any(decl.broken for decl in self.head.values()):
            return  # The build fails, and the tree stays as it was.
        self.trees = {cluster: {} for cluster in CLUSTERS}
        for job, decl in self.head.items():
            if decl.was is not None:
                earlier = (job[0], decl.was)
                self.roots.setdefault(job, self.roots.get(earlier, decl.was))
            for cluster in decl.clusters:
                if not decl.stopped:
                    spec = self._spec(job, decl)
                    self.trees[cluster].setdefault(job[0], {})[spec.name] = spec

    def _spec(self, job: Job, decl: Decl) -> Spec:
        return Spec(
            job[0],
            self.name(job, decl),
            self.roots.get(job, job[1]),
            decl.label,
            decl.accelerators,
            decl.hours,
            f"/ckpt/{job[0]}/{job[1]}",
            fails_after=decl.fails_after,
            payload=self.content(decl),
        )


class FixedName(Naive):
    """The object is called as the job is, and a time to live cleans it up."""

    title = "fixed name, with a time to live"
    report = "wso2/labs-agentic-engineer#554"
    ttl = 24

    def name(self, job: Job, decl: Decl) -> str:
        return job[1]


class ContentHash(Naive):
    """The name ends in a hash of what is rendered."""

    title = "content hash in the name"
    report = "argoproj/argo-cd#8643"

    def name(self, job: Job, decl: Decl) -> str:
        digest = hashlib.sha256(self.content(decl).encode()).hexdigest()
        return f"{job[1]}-{digest[:8]}"


class Counter(Naive):
    """The name ends in a number of the declaration, which people raise to train anew."""

    title = "counter in the name"
    report = "cloudfoundry-incubator/fissile#308"

    def name(self, job: Job, decl: Decl) -> str:
        return f"{job[1]}-{decl.count}"


NAIVE: tuple[type[Naive], ...] = (FixedName, ContentHash, Counter)


@dataclass(slots=True)
class Hours:
    """Accelerator-hours of many histories."""

    once: int = 0
    twice: int = 0
    torn: int = 0
    lost: int = 0

    def add(self, story: Story) -> None:
        for cluster in story.clusters.values():
            self.once += cluster.useful
            self.twice += cluster.twice.total()
            self.torn += cluster.torn
            self.lost += cluster.lost
