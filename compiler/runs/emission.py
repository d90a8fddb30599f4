"""The tree of overlays after a publish: kept bytes stay, new runs are made, the ended go.

A launched run's bytes never change until it ends: they are taken from the publish commit that wrote
them, never rendered again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from compiler.backends import backends
from compiler.base import Base, load
from compiler.diagnostics import CompilerError, Severity
from compiler.overlay import files, run_folder, snapshot, team_files
from compiler.project import Project
from compiler.proof import Claim
from compiler.repository import Repository
from compiler.results import Ask, RunResult
from compiler.runs import ledgerfile
from compiler.runs.entries import Entry, Ledger
from compiler.runs.fold import JobDecision, Key, Outcome
from compiler.runs.tombstones import PLURALS, ended_files, platform_files

Published = Callable[[str], Mapping[str, bytes] | None]
"""The files of a run's folder as they were published, by path from the root; None if never."""


@dataclass(slots=True)
class Tree:
    """Everything under `overlays/`, and the claims to prove about the new part of it."""

    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    claims: list[Claim] = field(default_factory=list[Claim])
    run_files: dict[tuple[Key, int], dict[str, str]] = field(
        default_factory=dict[tuple[Key, int], dict[str, str]]
    )


class Emission:
    """One tree being made."""

    def __init__(
        self, project: Project, outcome: Outcome, published: Published, source: str, scratch: Path
    ) -> None:
        self.project = project
        self.outcome = outcome
        self.published = published
        self.source = source
        self.scratch = scratch
        self.tree = Tree()
        self.namespaces = {
            name: team.value.namespace for name, team in project.policy.teams.items()
        }

    def make(self) -> Tree:
        """The whole tree; raises CompilerError where a run that is to start cannot be rendered."""
        started = {
            ((item.team, item.book), item.decision.number): item
            for item in self.outcome.decisions
            if item.decision.starts
        }
        listed: dict[tuple[str, str], list[tuple[str, int]]] = {}
        for key, ledger in self.outcome.ledgers.items():
            for run in ledger.runs:
                item = started.get((key, run.number))
                if item is not None:
                    self._start(key, run, item, ledger)
                elif run.listed:
                    self._keep(key, run)
                if run.listed:
                    listed.setdefault((run.cluster, key[0]), []).append((_job(key, run), run.number))
            if ledger.runs:
                path = f"overlays/ledger/{key[0]}/{key[1]}.yaml"
                self._put({path: ledgerfile.dump(ledger)})
        self._teams(listed)
        self._clusters()
        return self.tree

    def _put(self, texts: Mapping[str, str]) -> None:
        self.tree.files.update({path: text.encode() for path, text in texts.items()})

    def _start(self, key: Key, run: Entry, item: JobDecision, ledger: Ledger) -> None:
        made, base = self._rendered(key, run, item, ledger)
        texts = files(made, base)
        self._put(texts)
        frozen = snapshot(run.cluster, base)
        self.tree.files.update(frozen)
        folder = run_folder(made.run)
        self.tree.run_files[key, run.number] = texts
        self.tree.claims.append(
            Claim(
                f"{key[0]}/{run.name} on {run.cluster}",
                folder,
                run.cluster,
                {**{path: text.encode() for path, text in texts.items()}, **frozen},
                made.objects,
            )
        )

    def _rendered(
        self, key: Key, run: Entry, item: JobDecision, ledger: Ledger
    ) -> tuple[RunResult, Base]:
        decision = item.decision
        base = None
        if decision.base_of is not None:
            earlier = next(r for r in ledger.runs if r.number == decision.base_of)
            base = self._snapshot(run.cluster, earlier.inputs.get("base", ""))
        image = run.inputs.get("image") if decision.image_of is not None else None
        pinned = image if image is not None and image.startswith("sha256:") else None
        ask = Ask(run.number, run.lineage, run.checkpoint_dir, self.source, pinned, base)
        path = self.project.repository.root / item.path
        result = self.project.judge(path, None, {run.cluster: ask})
        if not result.runs:
            errors = [f for f in result.findings if f.severity is Severity.ERROR]
            why = errors[0].message if errors else "it has no run there"
            raise CompilerError(f"{key[0]}/{key[1]} cannot be rendered for {run.cluster}: {why}")
        return result.runs[0], result.runs[0].base

    def _snapshot(self, cluster: str, digest: str) -> Base | None:
        """The base as it was frozen for an earlier run; None where it is no longer there."""
        folder = f"overlays/{cluster}/base/{digest}"
        kept = self.published(folder)
        if not kept:
            return None
        for name, backend in backends().items():
            place = self.scratch / digest / name
            for path, data in kept.items():
                file = place / "base" / name / path.removeprefix(f"{folder}/")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            base, problems = load(Repository(place), backend)
            if base is not None and not problems and base.digest == digest:
                return base
        return None

    def _keep(self, key: Key, run: Entry) -> None:
        folder = f"overlays/{run.cluster}/{key[0]}/{_job(key, run)}/r{run.number}"
        kept = self.published(folder)
        if kept is None:
            raise CompilerError(
                f"the overlay of {key[0]}/{run.name} is nowhere in the history of the branch",
                "restore the commit that published it",
            )
        self.tree.files.update(kept)
        digest = run.inputs.get("base", "")
        frozen = self.published(f"overlays/{run.cluster}/base/{digest}")
        if frozen is not None:
            self.tree.files.update(frozen)

    def _teams(self, listed: Mapping[tuple[str, str], Sequence[tuple[str, int]]]) -> None:
        """A kustomization for every team on each of its clusters, also for one without runs: a
        syncer must find it when the last run is gone."""
        for team, document in self.project.policy.teams.items():
            for cluster in document.value.clusters:
                if cluster in self.project.policy.clusters:
                    runs = listed.get((cluster, team), ())
                    self._put(team_files(cluster, team, document.value.namespace, runs))
        for (cluster, team), runs in listed.items():
            namespace = self.namespaces.get(team, team)
            self._put(team_files(cluster, team, namespace, runs))

    def _clusters(self) -> None:
        kinds = {(b.target.api_version, PLURALS[b.target.kind]) for b in backends().values()}
        clusters = set(self.project.policy.clusters)
        clusters |= {run.cluster for ledger in self.outcome.ledgers.values() for run in ledger.runs}
        for cluster in sorted(clusters):
            ended = [
                (self.namespaces.get(team, team), run)
                for (team, _), ledger in sorted(self.outcome.ledgers.items())
                for run in ledger.on(cluster)
            ]
            self._put(ended_files(cluster, ended))
            self._put(platform_files(cluster, kinds))


def _job(key: Key, run: Entry) -> str:
    """The name that the job had when the run started: its overlay stays there after a rename."""
    name = run.name.removesuffix(f"-r{run.number}")
    return key[1] if name == run.name else name
