"""Random histories over real git repositories, each published with the product's own publish.

RUNWRIGHT_HISTORIES says how many (default 24); the seeds are 0, 1, 2 …, so a failure names its own.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from company import TEAM, Company, job, without_proof

from compiler.repository import Repository
from compiler.runs.books import read_books
from compiler.runs.chain import publish_commits
from compiler.runs.entries import OUTCOMES, STATES, Entry
from compiler.runs.git import Git
from compiler.runs.observations import Observation, Observed
from compiler.runs.publishing import Published, Request, publish

HISTORIES = int(os.environ.get("RUNWRIGHT_HISTORIES", "24"))
STEPS = 7
UNFINISHED = (
    *("REVERT_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD"),
    *("rebase-merge", "rebase-apply", "sequencer"),
)
JOBS = ("nlp/a", "nlp/b", "vision/a", "vision/c")


class History(Company):
    """One history: what people, publishers and clusters do, and what was seen of every run."""

    def __init__(self, folder: Path, template: Path, seed: int) -> None:
        self.folder, self.root, self.hours = folder, folder / "clone", 1
        shutil.copytree(template, folder, symlinks=True, dirs_exist_ok=True)
        self.git("remote", "set-url", "origin", str(folder / "remote.git"))
        self.any = random.Random(seed)
        self.said = [f"seed {seed}"]
        # By team, job and number: what was first recorded, the bytes, the furthest state.
        self.first: dict[tuple[str, str, int], Entry] = {}
        self.latest: dict[tuple[str, str, int], Entry] = {}
        self.bytes: dict[str, dict[str, str]] = {}
        self.stones: dict[str, str] = {}
        self.publishes = 0

    # -- what people do

    def edit(self) -> None:
        path = self.any.choice(JOBS)
        fields: dict[str, object] = {"args": f"[--lr, {self.any.randint(1, 3)}e-4]"}
        if self.any.random() < 0.3:
            fields["max_duration"] = f"{self.any.randint(1, 3)}0h"
        if self.any.random() < 0.3:
            fields["cluster"] = self.any.choice(("east", "[west, east]"))
        if self.any.random() < 0.1:
            fields["state"] = "stopped"
        text = job(**fields)
        if self.any.random() < 0.15:
            text = "image: [\n"
        self.write(f"jobs/{path}.yaml", text)

    def remove(self) -> None:
        path = self.root / f"jobs/{self.any.choice(JOBS)}.yaml"
        path.unlink(missing_ok=True)

    def platform(self) -> None:
        path, before, after = self.any.choice(
            (
                ("base/job/job.yaml", "kind: Job\n", f"kind: Job\n# {self.any.random()}\n"),
                ("images/lock.yaml", "aa01", "aa02"),
                ("policy/teams/nlp.yaml", "guaranteed: 24", "guaranteed: 8"),
                ("policy/teams/vision.yaml", "guaranteed: 8", "guaranteed: 24"),
                ("policy/clusters/west.yaml", "shm_size: 16Gi", "shm_size: 32Gi"),
            )
        )
        if (self.root / path).exists():
            self.write(path, (self.root / path).read_text().replace(before, after))

    def tamper(self) -> None:
        files = sorted((self.root / "overlays").rglob("*.yaml"))
        if files:
            victim = self.any.choice(files)
            if self.any.random() < 0.5:
                victim.unlink()
            else:
                victim.write_text("tampered: true\n")

    # -- how it comes into main

    def straight(self) -> None:
        self._people()

    def revert(self) -> None:
        """Revert one commit or a range, of people or of publish."""
        last = self.git("log", "--first-parent", "--no-merges", "--format=%H", "-5").split()[:-1]
        if not last:
            return
        start = self.any.randrange(len(last))
        chosen = last[start : start + self.any.randint(1, 2)]
        self._try("revert", "--no-edit", *chosen)

    def branch(self) -> None:
        """A branch from an older commit, merged, squashed, rebased, picked or in foxtrot."""
        self.git("checkout", "-q", "-B", "topic", f"HEAD~{self.any.randint(0, 1)}")
        self._people()
        self._people()
        how = self.any.choice(("merge", "squash", "rebase", "pick", "foxtrot"))
        self.said.append(how)
        if how == "rebase":
            self._try("rebase", "-q", "main")
            self.git("branch", "-q", "-f", "main", "topic")
        elif how == "foxtrot":
            self._try("merge", "-q", "--no-edit", "main")
            self.git("branch", "-q", "-f", "main", "HEAD")
        self.git("checkout", "-q", "main")
        if how == "merge":
            self._try("merge", "-q", "--no-ff", "--no-edit", "topic")
        elif how == "squash":
            self._try("merge", "-q", "--squash", "topic")
            self.git("commit", "-q", "--allow-empty", "-m", "Squash")
        elif how == "pick":
            self._try("cherry-pick", "--allow-empty", "main..topic")

    def _people(self) -> None:
        act = self.any.choice((self.edit, self.edit, self.edit, self.remove, self.platform))
        if self.any.random() < 0.1:
            act = self.tamper
        self.said.append(act.__name__)
        act()
        self.commit()

    def _try(self, *words: str) -> None:
        """Do it; where it conflicts, as people resolve it: theirs, and all of it."""
        try:
            self.git(*words)
        except AssertionError:
            for _ in range(9):
                unmerged = self.git("diff", "--name-only", "--diff-filter=U").split()
                for path in unmerged:
                    try:
                        self.git("checkout", "-q", "--theirs", "--", path)
                        self.git("add", "--", path)
                    except AssertionError:
                        self.git("rm", "-q", "-f", "--cached", "--", path)
                        (self.root / path).unlink(missing_ok=True)
                verb = words[0]
                if verb == "merge" and "--squash" in words:
                    return
                try:
                    self.git("-c", "core.editor=true", verb, "--continue")
                except AssertionError as error:
                    if "skip" in str(error):
                        self._quietly(verb, "--skip")
                if not any((self.root / ".git" / name).exists() for name in UNFINISHED):
                    return
            raise

    def _quietly(self, *words: str) -> None:
        try:
            self.git(*words)
        except AssertionError as error:
            self.said.append(str(error).partition("\n")[0])

    # -- publish, and what it promised

    def observed(self) -> list[Observation]:
        """Runs that have ended, as somebody saw them on a cluster."""
        if self.any.random() < 0.5:
            return []
        cluster = self.any.choice(("west", "east"))
        live = [run for run in self.latest.items() if run[1].active and run[1].cluster == cluster]
        ended = {
            (f"p-{key[0]}", run.name): Observed(self.any.choice(("succeeded", "failed")))
            for key, run in live
            if self.any.random() < 0.4
        }
        return [Observation(cluster, self.now.isoformat(), False, ended)] if ended else []

    def publish_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Push, publish with whatever else happens at the same time, and look."""
        self.git("push", "-q", "origin", "+HEAD:main")
        self.hours += self.any.choice((1, 1, 1, 80))
        asked = Request(observations=self.observed(), allow_stops=99)
        rival = self.any.random() < 0.15
        if rival:
            self._rival(monkeypatch)
        done = publish(self.repository, asked, self.now)
        monkeypatch.undo()
        without_proof(monkeypatch)
        self.publishes += 1
        self.git("fetch", "-q", "origin")
        self.git("reset", "-q", "--hard", "origin/main")
        self.look(done)

    def _rival(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Another publisher is quicker, once."""
        real: Callable[..., None] = Git.push
        left = [1]

        def push(git: Git, *words: object) -> None:
            if left[0]:
                left[0] = 0
                publish(Repository(self.root), Request(), self.now)
            real(git, *words)

        monkeypatch.setattr(Git, "push", push)

    def look(self, done: Published) -> None:
        """Every promise, from what git holds."""
        git = Git(self.root)
        books = read_books(git, "HEAD")
        assert books.ledgers == done.outcome.ledgers or done.commit is None
        for one in publish_commits(git, "HEAD")[:2]:
            assert (git.names([f"{one.commit}:overlays/ledger"])[0] or "none") == one.ledger
        files = git.files("HEAD", "overlays")
        seen: dict[tuple[str, str, int], Entry] = {}
        for key, ledger in books.ledgers.items():
            numbers = [run.number for run in ledger.runs]
            assert numbers == list(range(1, len(numbers) + 1))
            for run in ledger.runs:
                seen[(*key, run.number)] = run
        assert set(self.latest) <= set(seen), "an entry was lost"
        listed: set[str] = set()
        for at, run in seen.items():
            self._one(at, run, files)
            if run.listed:
                listed.add(f"{run.cluster}/{at[0]}/{at[1]}/r{run.number}")
        folders = {"/".join(path.split("/")[1:5]) for path in files if path.endswith("/run.yaml")}
        assert folders == listed, "the tree is not what the ledger says"
        for path, blob in self.stones.items():
            assert files.get(path, ("", ""))[1] == blob, "a tombstone changed"
        self.stones = {
            path: blob
            for path, (_, blob) in files.items()
            if path.split("/")[2] == "ended" and not path.endswith("kustomization.yaml")
        }
        gone = [run for run in seen.values() if run.state == "ended" and run.launched]
        assert len(self.stones) == sum(not run.listed for run in gone)
        self.latest = seen
        if self.any.random() < 0.4:
            again = publish(self.repository, Request(allow_stops=99), self.now)
            assert again.commit is None, "a publish done twice does something more"

    def _one(self, at: tuple[str, str, int], run: Entry, files: dict[str, tuple[str, str]]) -> None:
        first = self.first.setdefault(at, run)
        before = self.latest.get(at, run)
        for name in ("cluster", "name", "training", "operation", "declared"):
            assert run.state == "held" or getattr(first, name) == getattr(run, name)
        assert STATES.index(before.state) <= STATES.index(run.state)
        assert OUTCOMES.index(before.outcome) <= OUTCOMES.index(run.outcome)
        assert run.listed <= (before.listed or before.state == "held")
        folder = f"overlays/{run.cluster}/{at[0]}/{at[1]}/r{run.number}/"
        now = {path: blob for path, (_, blob) in files.items() if path.startswith(folder)}
        base = f"overlays/{run.cluster}/base/{run.inputs.get('base')}/"
        now |= {path: blob for path, (_, blob) in files.items() if path.startswith(base)}
        if run.listed:
            assert now
            assert self.bytes.setdefault(folder, now) == now, "a launched run's bytes changed"
        if at not in self.latest and run.state == "active":
            alike = [
                other
                for key, other in self.latest.items()
                if key[:2] == at[:2] and other.training == run.training
            ]
            assert not any(
                other.outcome == "succeeded" and other.cluster == run.cluster for other in alike
            ), "what is recorded as finished started again"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The beginning of every history."""
    folder = tmp_path_factory.mktemp("template")
    made = Company(folder)
    made.write("policy/teams/nlp.yaml", TEAM)
    made.write("policy/teams/vision.yaml", TEAM.replace("p-nlp", "p-vision").replace("24}", "8}"))
    made.write("jobs/nlp/a.yaml", job())
    made.write("jobs/vision/a.yaml", job(cluster="[west, east]"))
    made.merge()
    for sample in folder.rglob("*.sample"):
        sample.unlink()
    return folder


@pytest.mark.parametrize("part", range(4))
def test_histories(
    part: int, template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers are unique, finished is finished, bytes stay, and the tree is what ledgers say."""
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    kept = monkeypatch
    histories = publishes = starts = 0
    for seed in range(part, HISTORIES, 4):
        history = History(tmp_path / str(seed), template, seed)
        with kept.context() as patch:
            without_proof(patch)
            try:
                for _ in range(STEPS):
                    step = history.any.choice(
                        (history.straight, history.straight, history.revert, history.branch)
                    )
                    history.said.append(step.__name__)
                    step()
                    if history.any.random() < 0.6:
                        history.said.append("publish")
                        history.publish_all(patch)
            except Exception as error:
                error.add_note(", ".join(history.said))
                raise
        histories += 1
        publishes += history.publishes
        starts += sum(run.launched for run in history.latest.values())
        shutil.rmtree(history.folder)
    print(f"{histories} histories over git, {publishes} publishes, {starts} runs")
    assert publishes > histories
    assert starts > histories
