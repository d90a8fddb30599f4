"""The tree of overlays after a publish: kept bytes stay, new runs are made, the ended go.

A launched run's bytes never change until it ends: they are taken from the publish commit that wrote
them, never rendered again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from compiler.backends import backends
from compiler.base import Base, load
from compiler.diagnostics import CompilerError, Severity
from compiler.overlay import files, snapshot, team_files
from compiler.platform.folder import Before, folder_of, namespaces_in, platform_files
from compiler.project import Project
from compiler.proof import Claim
from compiler.repository import Repository
from compiler.results import Ask, JobResult, RunResult
from compiler.runs import ledgerfile
from compiler.runs.adoption import overlay_of
from compiler.runs.entries import Entry, Ledger
from compiler.runs.fold import JobDecision, Key, Outcome
from compiler.runs.tombstones import (
    ended_files,
    is_ended,
    is_tombstone,
    known,
    namespace_of,
)
from compiler.syncers.folder import folder_of as sync_folder
from compiler.syncers.folder import namespaces_in as namespaces_in_tree
from compiler.syncers.folder import sync_files, teams_in

Published = Callable[[str], Mapping[str, bytes] | None]
"""The files of a run's folder as they were published, by path from the root; None if never."""


class Tree(Struct):
    """Everything under `overlays/`, and the claims to prove about the new part of it."""

    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    claims: list[Claim] = field(default_factory=list[Claim])
    run_files: dict[tuple[Key, int], dict[str, str]] = field(
        default_factory=dict[tuple[Key, int], dict[str, str]]
    )


class Emission:
    """One tree being made."""

    def __init__(
        self,
        project: Project,
        outcome: Outcome,
        published: Published,
        source: str,
        scratch: Path,
        results: Mapping[Key, JobResult],
    ) -> None:
        self.project = project
        # What is declared now, as it was judged for the decisions.
        self.results = results
        self.outcome = outcome
        self.published = published
        self.source = source
        self.scratch = scratch
        self.tree = Tree()

    def make(self) -> Tree:
        """The whole tree; raises CompilerError where a run that is to start cannot be rendered."""
        started = {
            ((item.team, item.book), item.decision.number): item
            for item in self.outcome.decisions
            if item.decision.starts
        }
        listed: dict[tuple[str, str], list[tuple[str, int]]] = {}
        for key, ledger in list(self.outcome.ledgers.items()):
            for run in ledger.runs:
                item = started.get((key, run.number))
                if item is not None:
                    self._start(key, run, item, ledger)
                elif run.listed:
                    self._keep(key, run)
                if run.listed:
                    place = (run.cluster, key[0])
                    listed.setdefault(place, []).append((_job(key, run), run.number))
            ledger = self.outcome.ledgers[key]
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
        self.tree.run_files[key, run.number] = texts
        self.tree.claims.append(
            Claim(
                f"{key[0]}/{run.name} on {run.cluster}",
                run_folder(key, run),
                run.cluster,
                {**{path: text.encode() for path, text in texts.items()}, **frozen},
                made.objects,
            )
        )

    def _rendered(
        self, key: Key, run: Entry, item: JobDecision, ledger: Ledger
    ) -> tuple[RunResult, Base]:
        """The run with the inputs of its lineage, or with today's where those are refused."""
        pinned = self._of_lineage(run, item, ledger)
        made, why = self._judged(run, item, *pinned)
        if made is None and pinned != (None, None):
            made, _ = self._judged(run, item, None, None)
            pinned = (None, None)
        if made is None:
            raise CompilerError(f"{key[0]}/{key[1]} cannot be rendered for {run.cluster}: {why}")
        self._record(key, run, made, pinned[0])
        return made, made.base

    def _of_lineage(
        self, run: Entry, item: JobDecision, ledger: Ledger
    ) -> tuple[str | None, Base | None]:
        """The image digest and the base that row l keeps."""
        decision, base = item.decision, None
        if decision.base_of is not None:
            earlier = next(r for r in ledger.runs if r.number == decision.base_of)
            base = self._snapshot(run.cluster, earlier.inputs.get("base", ""))
        image = run.inputs.get("image") if decision.image_of is not None else None
        return image if image is not None and image.startswith("sha256:") else None, base

    def _judged(
        self, run: Entry, item: JobDecision, image: str | None, base: Base | None
    ) -> tuple[RunResult | None, str]:
        """The run, or why there is none."""
        judged = self._as_judged(run, item, image, base)
        if judged is not None:
            return judged, ""
        ask = Ask(run.number, run.lineage, run.checkpoint_dir, self.source, image, base)
        path = self.project.repository.root / item.path
        result = self.project.judge(path, None, {run.cluster: ask})
        errors = [found for found in result.findings if found.severity is Severity.ERROR]
        if result.runs and not errors:
            return result.runs[0], ""
        return None, errors[0].message if errors else "it has no run there"

    def _as_judged(
        self, run: Entry, item: JobDecision, image: str | None, base: Base | None
    ) -> RunResult | None:
        """The run as it was judged for the decisions, under its number.

        None where it goes on with another image or base than today's, which nobody has judged yet.
        """
        known = self.results.get((item.team, item.job))
        for made in known.runs if known is not None and known.usable else ():
            digests = {member.image.digest for member in made.run.members}
            same = image is None or digests == {image}
            same = same and (base is None or base.digest == made.base.digest)
            identity = made.run.identity
            if identity.cluster == run.cluster and same:
                own = replace(
                    identity,
                    number=run.number,
                    lineage=run.lineage,
                    folder=run.checkpoint_dir,
                    source=self.source,
                )
                return replace(made, run=replace(made.run, identity=own))
        return None

    def _record(self, key: Key, run: Entry, made: RunResult, image: str | None) -> None:
        """Let the ledger say what the run was made of, where the lineage's could not be had."""
        others = made.run.others.image
        inputs = {
            **run.inputs,
            "base": made.base.digest,
            "image": image or others.digest or others.reference,
        }
        if inputs != run.inputs:
            book = self.outcome.ledgers[key]
            self.outcome.ledgers[key] = book.with_run(replace(run, inputs=inputs))

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
        folder = run_folder(key, run)
        kept = self.published(folder)
        if kept is None and self._adopt(key, run, folder):
            return
        if kept is None:
            raise CompilerError(
                f"the overlay of {key[0]}/{run.name} is nowhere in the history of the branch",
                "restore the commit that published it",
            )
        self.tree.files.update(kept)
        digest = run.inputs.get("base", "")
        frozen = self.published(f"overlays/{run.cluster}/base/{digest}") if digest else None
        if frozen is not None:
            self.tree.files.update(frozen)

    def _adopt(self, key: Key, run: Entry, folder: str) -> bool:
        """Write the overlay of a run that is taken in now; whether this is one."""
        document = self.project.policy.adopted.get(f"{key[0]}/{key[1]}")
        if document is None or run.started is None or run.started.by != "adopt":
            return False
        texts, made = overlay_of(document, key, run, self.source)
        self._put(texts)
        self.tree.run_files[key, run.number] = texts
        encoded = {path: text.encode() for path, text in texts.items()}
        name = f"{key[0]}/{run.name} on {run.cluster}"
        self.tree.claims.append(Claim(name, folder, run.cluster, encoded, [made]))
        return True

    def _teams(self, listed: Mapping[tuple[str, str], Sequence[tuple[str, int]]]) -> None:
        """A kustomization for every team on each of its clusters, also for one without runs: a
        syncer must find it when the last run is gone.

        Flux stops nothing where the folder itself is gone ("path not found"), so it stays for good
        where a team has ever had a run, also once policy has no such team.
        """
        policy = self.project.policy
        places = {
            (cluster, team)
            for team, document in policy.teams.items()
            for cluster in document.value.clusters
            if cluster in policy.clusters
        }
        places |= {place for place in self._known() if self._unreadable(*place)}
        places |= {
            (run.cluster, team)
            for (team, _), ledger in self.outcome.ledgers.items()
            for run in ledger.runs
        }
        for cluster, team in sorted(places | set(listed)):
            runs = listed.get((cluster, team), ())
            self._put(team_files(cluster, team, self._namespace(cluster, team), runs))

    def _known(self) -> set[tuple[str, str]]:
        """The clusters and teams that have a folder now."""
        found = (path.split("/") for path in self.published("overlays") or ())
        return {(parts[1], parts[2]) for parts in found if parts[3:] == ["sentinel.yaml"]}

    def _unreadable(self, cluster: str, team: str) -> bool:
        """Whether the policy about them is there and cannot be read: not the same as absent."""
        policy = self.project.policy
        return policy.unreadable("clusters", cluster) or policy.unreadable("teams", team)

    def _namespace(self, cluster: str, team: str) -> str:
        """A team's namespace; as it was published, where policy does not say it any more."""
        document = self.project.policy.teams.get(team)
        if document is not None:
            return document.value.namespace
        kept = self.published(f"overlays/{cluster}/{team}") or {}
        sentinel = kept.get(f"overlays/{cluster}/{team}/sentinel.yaml")
        if sentinel is not None:
            return namespace_of(sentinel) or team
        lived = (
            run.namespace
            for (owner, _), ledger in self.outcome.ledgers.items()
            if owner == team
            for run in reversed(ledger.on(cluster))
        )
        return next((space for space in lived if space), team)

    def _clusters(self) -> None:
        clusters = set(self.project.policy.clusters)
        clusters |= {run.cluster for ledger in self.outcome.ledgers.values() for run in ledger.runs}
        for cluster in sorted(clusters):
            kept = self.published(f"overlays/{cluster}/ended") or {}
            ended = {path: data.decode() for path, data in kept.items() if is_tombstone(path)}
            there = known(ended)
            new = [
                (key[0], self._lived(key, run), run)
                for key, ledger in sorted(self.outcome.ledgers.items())
                for run in ledger.on(cluster)
                if is_ended(run) and (key[0], run.name) not in there
            ]
            self._put(ended_files(cluster, new, ended))
            before = self._before(cluster)
            self._put(platform_files(self.project.policy, cluster, before))
            self._put(self._sync(cluster, before))

    def _sync(self, cluster: str, before: Before) -> dict[str, str]:
        """What the cluster's syncer follows: every team's folder that is in the tree."""
        teams: dict[str, list[str]] = {}
        for team in teams_in(cluster, self.tree.files):
            now = self._namespace(cluster, team)
            teams[team] = [now, *sorted(before.homes.get(team, frozenset()) - {now})]
        published = self.published(sync_folder(cluster)) or {}
        return sync_files(
            self.project.policy,
            cluster,
            teams,
            namespaces_in_tree(cluster, self.tree.files),
            self.project.repository.publish_branch,
            {path: data.decode() for path, data in published.items()},
        )

    def _before(self, cluster: str) -> Before:
        """What the platform's folder was, and which teams still have something on the cluster."""
        published = self.published(folder_of(cluster)) or {}
        files = {path: data.decode() for path, data in published.items()}
        spaces = namespaces_in(files)
        homes: dict[str, set[str]] = {}
        teams: set[str] = set()
        for key, ledger in self.outcome.ledgers.items():
            for run in ledger.on(cluster):
                teams.add(key[0])
                if run.active:
                    # Nothing else says where a run is once its team has had two namespaces.
                    now = self._namespace(cluster, key[0])
                    moved = not spaces.get(key[0], set()) <= {now}
                    homes.setdefault(key[0], set()).add(self._lived(key, run) if moved else now)
        return Before(files, frozenset(teams), {t: frozenset(found) for t, found in homes.items()})

    def _lived(self, key: Key, run: Entry) -> str:
        """The namespace that a run was in: policy may have moved its team since."""
        if run.namespace:
            return run.namespace
        kept = self.published(run_folder(key, run)) or {}
        found = (
            namespace_of(data) for path, data in sorted(kept.items()) if path.endswith(".yaml")
        )
        return next(filter(None, found), "") or self._namespace(run.cluster, key[0])


def run_folder(key: Key, run: Entry) -> str:
    """The folder of a run's overlay, from the repository's root."""
    return f"overlays/{run.cluster}/{key[0]}/{_job(key, run)}/r{run.number}"


def _job(key: Key, run: Entry) -> str:
    """The name that the job had when the run started: its overlay stays there after a rename."""
    name = run.name.removesuffix(f"-r{run.number}")
    return key[1] if name == run.name else name
