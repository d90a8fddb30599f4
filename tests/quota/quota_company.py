"""Small companies, drawn at random: their policy, jobs and ledgers as files, and as the plain
records that the reference sums. Imports nothing of the compiler."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree

import quota_reference as reference
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
CLUSTERS, TEAMS = ("east", "west"), ("nlp", "speech")
PER_NODE = 8
# What has become of the job's last run, and whether it runs on or starts again.
FATES = {
    "new": "starts",
    "active": "stays",
    "edited": "starts",  # active, and asked for in another way since
    "succeeded": "rests",
    "failed": "rests",
    "retrained": "starts",  # succeeded, and asked for with other arguments since
    "stopped": "rests",
    "gone": "rests",  # active, and its file is no more
}


@dataclass(frozen=True)
class Job:
    """One job on one cluster; `most` differs from `nodes` for an elastic one."""

    name: str
    team: str
    cluster: str
    accelerator: str
    each: int
    nodes: int
    most: int
    fate: str = "new"
    lr: str = "1e-4"

    @property
    def path(self) -> str:
        return f"jobs/{self.team}/{self.name}.yaml"

    @property
    def title(self) -> str:
        return f"{self.team}/{self.name}"

    def text(self) -> str:
        several = self.most > 1
        nodes = f"{{min: {self.nodes}, max: {self.most}}}" if self.elastic else f"{self.nodes}"
        lines = [
            "image: trainer",
            "command: [torchrun, train.py]",
            f"args: [--lr, {self.lr}]",
            f"accelerators: {self.accelerator}:{self.each}",
            f"num_nodes: {nodes}" if several else "",
            f"cluster: {self.cluster}",
            "queue: all" if self.cluster == "west" else "",
            "max_duration: 24h",
            "checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}",
            "state: stopped" if self.fate == "stopped" else "",
        ]
        return "".join(f"{line}\n" for line in lines if line)

    @property
    def elastic(self) -> bool:
        return self.nodes != self.most

    def run(self) -> reference.Run | None:
        """What it holds or would hold; None for one that does neither."""
        if FATES[self.fate] == "rests":
            return None
        return reference.Run(
            self.cluster,
            self.team,
            self.name,
            ((self.accelerator, self.each * self.most),),
            ((self.accelerator, self.each * self.nodes),) if self.elastic else None,
            active=self.fate == "active",
        )

    def ledger(self) -> str:
        """The ledger of its runs; '' where there was none."""
        then = {"edited": replace(self, each=1), "retrained": replace(self, lr="2e-4")}
        last = replace(then.get(self.fate, self), fate="new")
        if self.fate == "new":
            return ""
        active = self.fate in ("active", "edited", "stopped", "gone")
        outcome = {"succeeded": "succeeded", "retrained": "succeeded", "failed": "failed"}
        ended = "" if active else "    ended: {at: '2026-02-11T08:00:00+00:00'}\n"
        declared = "".join(f"      {line}\n" for line in last.text().splitlines())
        return (
            f"version: 1\nteam: {self.team}\njob: {self.name}\nruns:\n"
            f"  - number: 1\n    cluster: {self.cluster}\n    name: {self.name}-r1\n"
            f"    state: {'active' if active else 'ended'}\n    listed: {str(active).lower()}\n"
            f"    outcome: {outcome.get(self.fate, 'unknown')}\n    guarded: false\n"
            f"    lineage: 1\n    training: t\n    operation: o\n"
            f"    started: {{at: '2026-02-10T08:00:00+00:00'}}\n{ended}"
            f"    accelerators: {{{last.accelerator}: {last.each * last.most}}}\n"
            f"    nodes: {last.most}\n    declared: |\n{declared}"
        )


@dataclass(frozen=True)
class Company:
    """Nodes by cluster and accelerator, quotas as the reference has them, and jobs."""

    nodes: dict[str, dict[str, int]]
    quota: dict[tuple[str, str], dict[str, tuple[int, int]] | None]
    runs: dict[str, int]
    jobs: tuple[Job, ...]

    @property
    def world(self) -> reference.World:
        return reference.World(
            {
                cluster: {name: PER_NODE * nodes for name, nodes in own.items()}
                for cluster, own in self.nodes.items()
            },
            self.quota,
            {(cluster, team): most for cluster in CLUSTERS for team, most in self.runs.items()},
            frozenset({"west"}),
        )

    def of(self) -> list[reference.Run]:
        """The runs in the order in which they get room: what holds already, then by path."""
        jobs = sorted(self.jobs, key=lambda job: job.path)
        made: list[reference.Run] = []
        for job in jobs:
            run = job.run()
            if run is None:
                continue
            run = self.judged(run)
            if run.refused and job.fate == "edited":
                # What it asks for cannot start, so what runs goes on.
                run = replace(
                    run,
                    demand=((job.accelerator, job.most),),
                    least=None,
                    active=True,
                    refused=False,
                )
            made.append(run)
        return sorted(made, key=lambda run: not run.active)

    def judged(self, run: reference.Run) -> reference.Run:
        """The run, refused where it is above all that its team could ever be given."""
        own = self.quota[run.cluster, run.team]
        if run.active or own is None:
            return run
        above = any(number > sum(own.get(name, (0, 0))) for name, number in run.demand)
        return replace(run, refused=above)

    def write(self, root: Path) -> Path:
        """All of it as a repository."""
        files = {"pyproject.toml": "[tool.compiler]\nexample = true\n", "images/lock.yaml": LOCK}
        for cluster, own in self.nodes.items():
            files[f"policy/clusters/{cluster}.yaml"] = _cluster(cluster, own)
        for team in TEAMS:
            files[f"policy/teams/{team}.yaml"] = self._team(team)
        for job in self.jobs:
            if job.fate != "gone":
                files[job.path] = job.text()
            if job.ledger():
                files[f"overlays/ledger/{job.team}/{job.name}.yaml"] = job.ledger()
        copytree(ROOT / "base", root / "base", dirs_exist_ok=True)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        return root

    def _team(self, team: str) -> str:
        text = (
            f"namespace: p-{team}\nowners: [kim]\nclusters: [east, west]\ndefault_cluster: east\n"
        )
        rows = ""
        for cluster in CLUSTERS:
            own = self.quota[cluster, team]
            if own is not None:
                shares = ", ".join(
                    f"{name}: {{guaranteed: {always}, borrowing: {more}}}"
                    for name, (always, more) in own.items()
                )
                rows += f"  {cluster}: {{{shares}}}\n"
        text += f"quota:\n{rows}" if rows else ""
        return text + (f"caps: {{runs: {self.runs[team]}}}\n" if team in self.runs else "")


LOCK = """\
images:
  trainer:
    reference: registry.example.com/training/trainer:1
    digest: sha256:aa01aa01aa01aa01aa01aa01aa01aa01aa01aa01aa01aa01aa01aa01aa01aa01
"""


def _cluster(name: str, nodes: dict[str, int]) -> str:
    kinds = "".join(
        f"  {kind}:\n    resource: nvidia.com/gpu\n    per_node: {PER_NODE}\n    nodes: {count}\n"
        f"    node: {{cpu: 188, memory: 1900Gi}}\n    flavor: {kind.lower()}\n    partial: true\n"
        "    per_accelerator: {cpu: 20, memory: 200Gi, shm_size: 16Gi}\n"
        for kind, count in nodes.items()
    )
    queues = "queues: {all: {cluster_queue: all}}\n" if name == "west" else ""
    return (
        "backend: {single_node: pytorchjob, multi_node: pytorchjob}\n"
        f"admission: {'kueue' if name == 'west' else 'ledger'}\naccelerators:\n{kinds}{queues}"
        "claims: {checkpoints: {access: ReadWriteMany}}\n"
        "registries: {registry.example.com/training: {}}\nnetwork: {interface: eth0}\n"
    )


@st.composite
def companies(draw: st.DrawFn) -> Company:
    """Companies whose jobs are right in every respect but, perhaps, their quota."""
    few = st.integers(1, 4)
    nodes = {cluster: {"H100": draw(few), "A100": draw(few)} for cluster in CLUSTERS}
    quota: dict[tuple[str, str], dict[str, tuple[int, int]] | None] = {}
    for cluster in CLUSTERS:
        for team in TEAMS:
            share = st.tuples(st.integers(0, 2), st.integers(0, 2))
            own = {
                name: (PER_NODE * always // len(TEAMS), PER_NODE * more // 2)
                for name in nodes[cluster]
                for always, more in [draw(share)]
                if draw(st.booleans())
            }
            quota[cluster, team] = own if own and draw(st.integers(0, 3)) else None
    jobs: list[Job] = []
    for number in range(draw(st.integers(1, 5))):
        cluster = draw(st.sampled_from(CLUSTERS))
        kind = draw(st.sampled_from(("H100", "A100")))
        most = draw(st.integers(1, nodes[cluster][kind]))
        least = draw(st.integers(1, most)) if most > 1 else most
        jobs.append(
            Job(
                f"job{number}",
                draw(st.sampled_from(TEAMS)),
                cluster,
                kind,
                PER_NODE if most > 1 else draw(st.sampled_from((2, 4, 8))),
                least,
                most,
                draw(st.sampled_from(sorted(FATES))),
            )
        )
    runs = {team: draw(st.integers(1, 3)) for team in TEAMS if draw(st.integers(0, 3)) == 0}
    return Company(nodes, quota, runs, tuple(jobs))
