"""`publish` under real git: what it writes, what it keeps, and what stops it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from company import LOCK, ROOT, TEAM, Company, job, without_proof

from compiler.cli import main
from compiler.diagnostics import CompilerError
from compiler.repository import Repository
from compiler.runs import decisions
from compiler.runs.books import LostHistory, read_books
from compiler.runs.chain import publish_commits
from compiler.runs.entries import Entry
from compiler.runs.git import Git
from compiler.runs.ledgerfile import parse
from compiler.runs.observations import Observation, Observed
from compiler.runs.publishing import Published, Request, publish
from compiler.runs.refusals import advice, complaint

LR2 = "[--lr, 2e-4]"


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Company:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    without_proof(monkeypatch)
    return Company(tmp_path)


def declare(company: Company, name: str = "a", **fields: object) -> None:
    company.write(f"jobs/nlp/{name}.yaml", job(**fields))


def change(company: Company, message: str = "Change", name: str = "a", **fields: object) -> str:
    """Declare, and bring it onto the remote's main."""
    declare(company, name, **fields)
    return company.merge(message)


def runs(company: Company, name: str = "a", ref: str = "HEAD") -> list[Entry]:
    """The runs of a ledger at a commit."""
    path = f"overlays/ledger/nlp/{name}.yaml"
    ledger, findings = parse(path, company.git("show", f"{ref}:{path}").encode())
    assert ledger is not None
    assert not findings
    return list(ledger.runs)


def states(company: Company, name: str = "a", ref: str = "HEAD") -> list[str]:
    return [f"r{run.number} {run.state} {run.reason or ''}" for run in runs(company, name, ref)]


def tree(company: Company, ref: str = "HEAD", under: str = "overlays/") -> dict[str, str]:
    """The files under a folder at a commit, with their blobs."""
    rows = company.git("ls-tree", "-r", ref, "--", under).splitlines()
    return {row.partition("\t")[2]: row.split()[2] for row in rows}


def acts(done: Published) -> list[tuple[str, str, str]]:
    return [
        (item.job, item.cluster, f"{item.decision.row} {item.decision.action}")
        for item in done.outcome.decisions
        if item.decision.action != "none"
    ]


def head(company: Company, branch: str = "main") -> str:
    return company.git("ls-remote", "origin", f"refs/heads/{branch}").partition("\t")[0]


def message(company: Company, ref: str = "HEAD") -> dict[str, str]:
    """The trailers of a commit."""
    rows = company.git("show", "-s", "--format=%(trailers:only)", ref).splitlines()
    return dict(row.split(": ", 1) for row in rows if row)


# -- what a publish writes


def test_the_first_publish_writes_overlays_that_kustomize_builds_and_a_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    company = Company(tmp_path)
    source = change(company, num_nodes=2)
    monkeypatch.setenv("COMPILER_CACHE", str(ROOT / ".cache" / "compiler"))
    done = company.publish()
    assert acts(done) == [("a", "west", "h start")]
    assert done.commit == head(company)
    assert company.git("log", "-1", "--format=%s") == "publish: 1 start"
    found = tree(company)
    assert {
        "overlays/west/nlp/kustomization.yaml",
        "overlays/west/nlp/sentinel.yaml",
        "overlays/west/nlp/a/r1/kustomization.yaml",
        "overlays/west/nlp/a/r1/run.yaml",
        "overlays/east/nlp/kustomization.yaml",
        "overlays/west/ended/kustomization.yaml",
        "overlays/west/platform/tombstones.yaml",
        "overlays/ledger/nlp/a.yaml",
    } <= set(found)
    (run,) = runs(company)
    assert (run.state, run.listed, run.name, run.started) == ("active", True, "a-r1", run.started)
    assert run.started is not None
    assert run.started.source == source
    team = yaml.safe_load((company.root / "overlays/west/nlp/kustomization.yaml").read_text())
    assert team["resources"] == ["sentinel.yaml", "a/r1"]


def test_a_second_publish_has_nothing_to_do_and_exits_0(
    company: Company, capsys: pytest.CaptureFixture[str]
) -> None:
    change(company)
    company.publish()
    before = head(company)
    assert company.publish().commit is None
    at = company.now.isoformat()
    assert main(["--repo", str(company.root), "--at", at, "publish"]) == 0
    assert "nothing to write" in capsys.readouterr().out
    assert head(company) == before


def test_trailers_chain_the_publish_commits(company: Company) -> None:
    sources = [change(company, args=f"[--lr, {n}e-4]") and company.publish() for n in (1, 2, 3)]
    git = Git(company.root)
    found = publish_commits(git, "HEAD")
    assert [one.commit for one in found] == [done.commit for done in reversed(sources)]
    assert [one.previous for one in found] == [found[1].ledger, found[2].ledger, "none"]
    for one in found:
        assert company.git("rev-parse", f"{one.commit}:overlays/ledger") == one.ledger
        assert company.git("rev-parse", f"{one.commit}~1") == one.source


def test_a_publish_commit_names_runwright_where_git_knows_nobody(
    company: Company, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", str(tmp_path / "none"))
    change(company)
    company.publish()
    who = company.git("log", "-1", "--format=%an <%ae>, %cn <%ce>")
    assert who == "runwright <runwright@localhost>, runwright <runwright@localhost>"
    company.git("config", "user.name", "Robot")
    company.git("config", "user.email", "robot@example.com")
    change(company, args=LR2)
    company.publish()
    assert company.git("log", "-1", "--format=%an <%ae>") == "Robot <robot@example.com>"


def test_files_outside_and_strangers_inside_overlays_stay(company: Company) -> None:
    company.write("overlays/README.md", "ours\n")
    company.write("overlays/old/team/kustomization.yaml", "resources: []\n")
    company.write("notes/a b\té.txt", "x\n")
    change(company)
    before = tree(company, "HEAD", ".")
    company.publish()
    after = tree(company, "HEAD", ".")
    assert {path: after.get(path) for path in before} == before
    assert all(path.startswith("overlays/") for path in set(after) - set(before))


def test_overlays_that_publish_did_not_write_are_not_replaced_at_first(company: Company) -> None:
    company.write("overlays/west/nlp/kustomization.yaml", "resources: [hand-made]\n")
    change(company)
    with pytest.raises(CompilerError, match="was not written by publish"):
        company.publish()


# -- people's commits


def test_a_revert_resumes_and_the_revert_of_the_revert_too(company: Company) -> None:
    change(company)
    company.publish()
    change(company, args=LR2)
    company.publish()
    for numbers in ((3, 1, 1), (4, 2, 2)):
        company.git("revert", "--no-edit", *people(company)[:1])
        company.merge()
        assert [act for _, _, act in acts(company.publish())] == ["g resume"]
        last = runs(company)[-1]
        assert (last.number, last.lineage, last.came_from) == numbers
        assert last.checkpoint_dir == f"/ckpt/west/nlp/a/r{last.lineage}"


def people(company: Company) -> list[str]:
    """The commits of people that change declarations, the newest first."""
    return company.git("log", "--format=%H", "--", "jobs").split()


def test_the_revert_of_a_publish_commit_is_repaired_and_starts_nothing(company: Company) -> None:
    change(company)
    company.publish()
    change(company, args=LR2)
    done = company.publish()
    company.git("revert", "--no-edit", "HEAD")
    company.git("push", "-q", "origin", "HEAD:main")
    assert tree(company) != tree(company, done.commit or "")
    repaired = company.publish()
    assert acts(repaired) == []
    assert tree(company) == tree(company, done.commit or "")
    company.git("revert", "--no-edit", "HEAD", "HEAD~1")
    company.git("push", "-q", "origin", "HEAD:main")
    assert acts(company.publish()) == []
    assert tree(company) == tree(company, done.commit or "")


def test_the_revert_of_a_range_with_publish_commits_is_a_rollback(company: Company) -> None:
    change(company)
    first = company.publish()
    change(company, args=LR2)
    company.publish()
    change(company, args="[--lr, 3e-4]")
    change(company, name="b")
    company.publish()
    company.git("revert", "--no-edit", f"{first.commit}..HEAD")
    company.git("push", "-q", "origin", "HEAD:main")
    assert acts(company.publish()) == [("b", "west", "b stop"), ("a", "west", "g resume")]
    assert states(company) == [
        "r1 ended superseded",
        "r2 ended superseded",
        "r3 ended superseded",
        "r4 active ",
    ]
    assert [run.lineage for run in runs(company)] == [1, 2, 3, 1]
    assert states(company, "b") == ["r1 ended removed"]


def squash(company: Company) -> None:
    company.git("merge", "-q", "--squash", "branch")
    company.commit("Squashed")


def cherry_pick(company: Company) -> None:
    company.git("cherry-pick", "main..branch")


def rebase(company: Company) -> None:
    company.git("rebase", "-q", "main", "branch")
    company.git("checkout", "-q", "main")
    company.git("merge", "-q", "--ff-only", "branch")


def plain_merge(company: Company) -> None:
    company.git("merge", "-q", "--no-ff", "--no-edit", "branch")


def foxtrot(company: Company) -> None:
    """Main becomes the second parent: its publish commits are off the first-parent line."""
    company.git("checkout", "-q", "branch")
    company.git("merge", "-q", "--no-edit", "main")
    company.git("branch", "-q", "-f", "main", "branch")
    company.git("checkout", "-q", "main")


@pytest.mark.parametrize("how", [plain_merge, squash, cherry_pick, rebase, foxtrot])
def test_however_a_branch_comes_in_each_run_starts_once(
    company: Company, how: Callable[[Company], None]
) -> None:
    change(company)
    company.publish()
    company.git("checkout", "-q", "-b", "branch")
    declare(company, args=LR2)
    company.commit()
    declare(company, "b")
    company.commit()
    company.git("checkout", "-q", "main")
    change(company, name="c")
    company.publish()
    how(company)
    company.git("push", "-q", "origin", "HEAD:main")
    assert acts(company.publish()) == [("a", "west", "g start"), ("b", "west", "h start")]
    assert company.publish().commit is None
    assert [len(runs(company, name)) for name in "abc"] == [2, 1, 1]


def test_a_merge_that_takes_their_overlays_back_is_repaired(company: Company) -> None:
    change(company)
    company.publish()
    company.git("checkout", "-q", "-b", "old")
    declare(company, "b")
    company.commit()
    company.git("checkout", "-q", "main")
    change(company, args=LR2)
    done = company.publish()
    company.git("merge", "-q", "--no-edit", "old")
    company.git("checkout", "-q", "old", "--", "overlays")
    company.git("commit", "-q", "--amend", "--no-edit")
    company.git("push", "-q", "origin", "HEAD:main")
    assert acts(company.publish()) == [("b", "west", "h start")]
    assert runs(company) == runs(company, ref=done.commit or "")


def test_overlays_changed_by_hand_are_repaired_byte_for_byte(company: Company) -> None:
    change(company)
    company.publish()
    change(company, args=LR2)
    company.publish()
    before = tree(company)
    company.write("overlays/west/nlp/a/r2/run.yaml", "[]\n")
    company.write("overlays/west/nlp/a/r2/more.yaml", "a: b\n")
    company.write("overlays/west/nlp/kustomization.yaml", "resources: []\n")
    company.write("overlays/west/ended/p-nlp.a-r1.yaml", None)
    company.write("overlays/ledger/nlp/a.yaml", "version: 1\nteam: nlp\njob: a\nruns: []\n")
    company.write("overlays/ledger/nlp/z.yaml", "version: 1\nteam: nlp\njob: z\nruns: []\n")
    company.merge()
    assert acts(company.publish()) == []
    assert tree(company) == before


def test_what_has_started_keeps_its_bytes(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(company)
    company.publish()
    old = tree(company, under="overlays/west/nlp/a/r1/") | tree(
        company, under="overlays/west/base/"
    )
    for path, before, after in (
        ("base/job/job.yaml", "kind: Job\n", "kind: Job\n# words\n"),
        ("images/lock.yaml", "aa01", "aa02"),
        ("policy/clusters/west.yaml", "shm_size: 16Gi", "shm_size: 32Gi"),
    ):
        text = (company.root / path).read_text()
        assert before in text
        company.write(path, text.replace(before, after))
        company.merge()
        assert acts(company.publish()) == []
    monkeypatch.setattr(decisions, "__version__", "9.9.9")
    change(company, name="b")
    company.publish()
    now = tree(company)
    assert {path: now.get(path) for path in old} == old
    bases = {path.split("/")[3] for path in now if path.startswith("overlays/west/base/")}
    assert bases == {run.inputs["base"] for name in "ab" for run in runs(company, name)}
    assert len(bases) == 2
    assert [run.inputs["compiler"] for run in runs(company, "b")] == ["9.9.9"]


def test_a_rollback_takes_the_image_and_the_base_of_its_lineage(company: Company) -> None:
    change(company)
    company.publish()
    change(company, args=LR2)
    company.publish()
    text = (company.root / "base/job/job.yaml").read_text()
    company.write("base/job/job.yaml", text.replace("kind: Job\n", "kind: Job\n# words\n"))
    company.write("images/lock.yaml", LOCK.replace("aa01", "aa02"))
    change(company)
    company.publish()
    first, second, third = runs(company)
    assert third.inputs["image"] == first.inputs["image"] == second.inputs["image"]
    assert third.inputs["base"] == first.inputs["base"]
    overlay = company.root / "overlays/west/nlp/a"
    assert "aa01aa01" in (overlay / "r3/run.yaml").read_text()
    same = f"base/{first.inputs['base']}"
    assert same in (overlay / "r3/kustomization.yaml").read_text()
    change(company, args="[--lr, 3e-4]")
    company.publish()
    fourth = runs(company)[-1]
    assert fourth.inputs["image"] != first.inputs["image"]
    assert fourth.inputs["base"] != first.inputs["base"]
    assert "aa02aa02" in (overlay / "r4/run.yaml").read_text()


# -- ends


def test_a_finished_run_stays_listed_for_a_while_and_then_has_a_tombstone(company: Company) -> None:
    change(company)
    company.publish()
    bytes_before = tree(company, under="overlays/west/nlp/a/r1/")
    company.publish(observations=[company.seen(a_r1="succeeded")])
    (run,) = runs(company)
    assert (run.state, run.reason, run.outcome, run.listed) == (
        *("ended", "finished", "succeeded"),
        True,
    )
    assert tree(company, under="overlays/west/nlp/a/r1/") == bytes_before
    stone = "overlays/west/ended/p-nlp.a-r1.yaml"
    assert stone not in tree(company)
    assert message(company)["Observed"].startswith("west 2026-03-")
    # Nobody commits: time alone passes.
    company.hours += 73
    company.publish()
    assert not runs(company)[0].listed
    assert not tree(company, under="overlays/west/nlp/a/r1/")
    assert stone in tree(company)
    assert acts(company.publish()) == []


def test_a_run_is_found_in_the_namespace_that_it_was_published_in(company: Company) -> None:
    """Its team has moved since; the namespace of today has another object of its name."""
    change(company)
    company.publish()
    assert runs(company)[0].namespace == "p-nlp"
    company.write("policy/teams/nlp.yaml", TEAM.replace("p-nlp", "p-language"))
    company.merge()
    there = {("p-language", "a-r1"): Observed("succeeded")}
    company.publish(observations=(Observation("west", company.now.isoformat(), True, there),))
    assert states(company) == ["r1 active "]
    company.publish(observations=(company.seen(a_r1="failed"),))
    assert [(run.state, run.outcome) for run in runs(company)] == [("ended", "failed")]
    # It stays listed until its own namespace no longer has it.
    gone = Observation("west", company.now.isoformat(), True, there)
    company.publish(observations=(gone,))
    assert not runs(company)[0].listed
    path = "overlays/west/ended/p-nlp.a-r1.yaml"
    assert company.git("show", f"HEAD:{path}")
    # What starts from now on is in the new one.
    change(company, args=LR2)
    company.publish()
    assert [run.namespace for run in runs(company)] == ["p-nlp", "p-language"]


def test_what_is_said_of_a_cluster_that_there_is_not_is_refused(company: Company) -> None:
    change(company)
    company.publish()
    before = head(company)
    for asked in ({"observations": (company.seen("wst", a_r1="succeeded"),)}, {"reset": {"wst"}}):
        with pytest.raises(CompilerError, match="there is no cluster `wst`") as told:
            company.publish(**asked)
        assert "`west`" in told.value.help
    assert head(company) == before


def test_when_a_run_began_and_ended_is_what_its_cluster_told(
    company: Company, capsys: pytest.CaptureFixture[str]
) -> None:
    change(company)
    company.publish()
    began, finished = "2026-03-01T12:34:56+00:00", "2026-03-02T01:02:03+00:00"
    key = ("p-nlp", "a-r1")

    def seen(**what: Any) -> Observation:
        return Observation("west", company.now.isoformat(), False, {key: Observed(**what)})

    assert company.publish(observations=(seen(outcome="running"),)).commit is None
    company.publish(observations=(seen(outcome="running", began=began),))
    (run,) = runs(company)
    assert (run.state, run.began, run.finished) == ("active", began, "")
    # Once is enough; a pod that was made again does not change when the run began.
    later = seen(outcome="running", began="2026-03-01T20:00:00+00:00")
    assert company.publish(observations=(later,)).commit is None
    company.publish(observations=(seen(outcome="succeeded", began=began, finished=finished),))
    (run,) = runs(company)
    assert (run.state, run.began, run.finished) == ("ended", began, finished)
    assert main(["runs", "a", "--repo", str(company.root)]) == 0
    head, line = capsys.readouterr().out.splitlines()[1:]
    assert head.split()[5:8] == ["published", "began", "ended"]
    assert run.started is not None
    published = run.started.at[:16].replace("T", " ") + "Z"
    assert f"{published}  2026-03-01 12:34Z  2026-03-02 01:02Z" in line
    assert main(["runs", "a", "--repo", str(company.root), "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["runs"]
    assert (row["began"], row["finished"]) == (began, finished)
    assert row["started"]["at"] == run.started.at


def test_tombstones_never_change_and_never_vanish(company: Company) -> None:
    change(company)
    company.publish()
    change(company, args=LR2)
    company.publish()
    company.write("policy/teams/nlp.yaml", TEAM.replace("p-nlp", "p-language"))
    company.merge()
    company.publish()
    before = tree(company, under="overlays/west/ended/p-nlp.a-r1.yaml")
    assert before
    # r2 was started in the old namespace, and its tombstone has to be there.
    company.write("jobs/nlp/a.yaml", None)
    company.merge()
    company.publish()
    company.write("policy/teams/nlp.yaml", None)
    company.merge()
    company.publish()
    ended = tree(company, under="overlays/west/ended/")
    assert {path.rpartition("/")[2] for path in ended} == {
        "kustomization.yaml",
        "p-nlp.a-r1.yaml",
        "p-nlp.a-r2.yaml",
    }
    assert {path: ended.get(path) for path in before} == before


def test_two_teams_with_jobs_of_one_name_have_tombstones_of_their_own(company: Company) -> None:
    company.write("policy/teams/vision.yaml", TEAM.replace("p-nlp", "p-vision"))
    company.write("jobs/vision/a.yaml", job())
    change(company)
    company.publish()
    for team in ("nlp", "vision"):
        company.write(f"jobs/{team}/a.yaml", None)
        company.merge()
        company.publish()
    ended = tree(company, under="overlays/west/ended/")
    assert {"overlays/west/ended/p-nlp.a-r1.yaml", "overlays/west/ended/p-vision.a-r1.yaml"} < set(
        ended
    )


# -- broken, doubled, renamed


def test_broken_files_keep_their_runs_and_the_rest_is_published(
    company: Company, capsys: pytest.CaptureFixture[str]
) -> None:
    change(company)
    company.publish()
    before = tree(company, under="overlays/west/nlp/a/")
    company.write("jobs/nlp/a.yaml", "image: [\n")
    change(company, name="b")
    at = company.now.isoformat()
    assert main(["--repo", str(company.root), "--at", at, "publish"]) == 1
    capsys.readouterr()
    company.git("pull", "-q", "--ff-only", "origin", "main")
    assert states(company) == ["r1 active "]
    assert states(company, "b") == ["r1 active "]
    assert tree(company, under="overlays/west/nlp/a/") == before


def test_a_broken_file_says_nothing_of_the_job_of_that_name_in_another_team(
    company: Company,
) -> None:
    company.write("policy/teams/vision.yaml", TEAM.replace("p-nlp", "p-vision"))
    company.write("jobs/vision/a.yaml", job())
    change(company)
    company.publish()
    company.write("jobs/nlp/a.yaml", "image: [\n")
    company.write("jobs/vision/a.yaml", job(args="[--lr, 9e-4]"))
    company.merge()
    done = company.publish()
    assert done.commit is not None
    books = read_books(Git(company.root), "HEAD").ledgers
    assert [run.state for run in books["nlp", "a"].runs] == ["active"]
    assert [run.state for run in books["vision", "a"].runs] == ["ended", "active"]


@pytest.mark.parametrize("path", ["policy/teams/nlp.yaml", "policy/clusters/west.yaml"])
def test_unreadable_policy_changes_nothing_where_it_is_about(company: Company, path: str) -> None:
    change(company)
    company.publish()
    before = tree(company, under="overlays/west/nlp/") | tree(company, under="overlays/west/ended/")
    company.write(path, "clusters: [\n")
    company.merge()
    done = company.publish()
    assert done.blocked
    after = tree(company, under="overlays/west/nlp/") | tree(company, under="overlays/west/ended/")
    assert after == before
    assert states(company) == ["r1 active "]


def test_a_job_named_by_two_files_stays_as_it_is(company: Company) -> None:
    change(company)
    company.publish()
    company.write("jobs/a.yaml", "team: nlp\n" + job(args=LR2))
    company.merge()
    done = company.publish()
    assert done.blocked
    assert states(company) == ["r1 active "]


def test_a_rename_with_was_keeps_runs_numbers_and_folders(company: Company) -> None:
    change(company)
    company.publish()
    before = tree(company, under="overlays/west/nlp/a/r1/")
    company.git("mv", "jobs/nlp/a.yaml", "jobs/nlp/b.yaml")
    change(company, name="b", was="a")
    assert acts(company.publish()) == []
    assert tree(company, under="overlays/west/nlp/a/r1/") == before
    change(company, name="b", was="a", args=LR2)
    company.publish()
    assert [run.name for run in runs(company)] == ["a-r1", "b-r2"]
    listed = yaml.safe_load((company.root / "overlays/west/nlp/kustomization.yaml").read_text())
    assert listed["resources"] == ["sentinel.yaml", "b/r2"]
    assert company.publish().commit is None
    company.git("revert", "--no-edit", *people(company)[:2])
    company.git("push", "-q", "origin", "HEAD:main")
    company.publish()
    assert [run.name for run in runs(company)] == ["a-r1", "b-r2", "a-r3"]
    assert runs(company)[-1].lineage == 1


# -- where it reads and writes


def test_the_work_tree_is_not_read(company: Company) -> None:
    change(company)
    declare(company, args=LR2)
    declare(company, "b")
    company.write("pyproject.toml", '[tool.compiler]\npublish = {branch = "elsewhere"}\n')
    company.hours += 1
    done = publish(company.repository, Request(), company.now)
    assert acts(done) == [("a", "west", "h start")]
    assert done.commit == head(company)
    assert company.git("status", "--porcelain").split("\n")[0].endswith("jobs/nlp/a.yaml")


def test_attributes_and_settings_of_git_hide_no_declaration(company: Company) -> None:
    company.write(".gitattributes", "jobs export-ignore\n*.yaml text eol=crlf ident filter=none\n")
    change(company)
    company.publish()
    assert states(company) == ["r1 active "]
    for setting in (
        ("grep.patternType", "fixed"),
        ("log.showSignature", "true"),
        ("core.autocrlf", "true"),
        ("core.quotePath", "true"),
        ("trailer.separators", "="),
        ("diff.renames", "copies"),
        ("push.followTags", "true"),
    ):
        company.git("config", *setting)
    assert company.publish().commit is None


def test_no_push_makes_a_commit_that_nobody_sees(company: Company) -> None:
    change(company)
    before = head(company)
    done = company.publish(push=False)
    assert done.commit is not None
    assert company.git("rev-parse", f"{done.commit}~1") == before == head(company)
    assert states(company, ref=done.commit) == ["r1 active "]


def test_a_dry_run_writes_nothing_at_all(company: Company) -> None:
    change(company)
    before = head(company), company.git("count-objects")
    done = company.publish(dry_run=True)
    assert acts(done) == [("a", "west", "h start")]
    assert done.commit is None
    assert (head(company), company.git("count-objects")) == before


def test_a_source_that_is_not_published_yet_can_be_named(company: Company) -> None:
    first = change(company)
    change(company, args=LR2)
    done = company.publish(source=first)
    assert done.source == first
    assert message(company)["Source"] == first
    assert "1e-4" in runs(company)[0].declared
    with pytest.raises(CompilerError, match="no commit `nowhere`"):
        company.publish(source="nowhere")


def test_what_follows_a_publish_of_an_older_commit_names_the_commit_with_its_files(
    company: Company,
) -> None:
    older = change(company)
    newer = change(company, args=LR2)
    company.publish(source=older)
    done = company.publish()
    assert done.source == message(company)["Source"] == newer
    last = runs(company)[-1]
    assert "2e-4" in last.declared
    assert last.started is not None
    assert last.started.source == newer
    assert company.git("show", f"{last.started.source}:jobs/nlp/a.yaml") == last.declared.strip()


def test_a_source_older_than_what_is_published_is_refused(company: Company) -> None:
    older = change(company)
    first = company.publish().commit
    newer = change(company, args=LR2)
    company.publish()
    before = head(company)
    for asked in (older, first, "HEAD~3"):
        with pytest.raises(CompilerError, match=f"{older[:12]} is older than {newer[:12]}") as told:
            company.publish(source=asked)
        assert told.value.status == 2
        assert f"plan --revert {older[:12]}..{newer[:12]}" in told.value.help
    assert head(company) == before
    # What it says to do does it.
    company.git("revert", "--no-edit", newer)
    company.merge()
    assert acts(company.publish()) == [("a", "west", "g resume")]
    assert [run.came_from for run in runs(company)] == [None, None, 1]


def test_publishing_what_is_published_again_is_nothing_new(company: Company) -> None:
    source = change(company)
    company.publish()
    assert company.publish(source=source).commit is None


def test_a_squash_with_the_message_of_a_publish_is_a_change_of_people(company: Company) -> None:
    change(company)
    company.publish()
    said = company.git("show", "-s", "--format=%B")
    company.git("commit", "-q", "--amend", "-m", "wip")
    declare(company, args=LR2)
    company.git("add", "-A")
    company.git("commit", "-q", "--amend", "-m", said)
    made = company.git("rev-parse", "HEAD")
    company.git("push", "-q", "-f", "origin", "HEAD:main", ":refs/runwright/main")
    assert company.publish().source == made


def test_a_shallow_clone_is_refused_and_told_what_to_do(
    company: Company, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(company)
    change(company, args=LR2)
    remote = (tmp_path / "remote.git").as_uri()
    subprocess.run(["git", "clone", "-q", "--depth", "1", remote, tmp_path / "s"], check=True)
    assert main(["--repo", str(tmp_path / "s"), "publish"]) == 2
    assert "fetch-depth: 0" in capsys.readouterr().err


def test_a_configuration_in_a_folder_of_a_larger_repository(
    tmp_path: Path, company: Company
) -> None:
    change(company)
    for name in ("jobs", "policy", "images", "base", "pyproject.toml"):
        (company.root / "deep").mkdir(exist_ok=True)
        company.git("mv", name, f"deep/{name}")
    company.write("overlays/README.md", "another's\n")
    company.merge()
    company.hours += 1
    inner = Repository(company.root / "deep")
    done = publish(inner, Request(), company.now)
    company.git("pull", "-q", "--ff-only", "origin", "main")
    assert done.commit == head(company)
    added = company.git("diff", "--name-only", "HEAD~1").splitlines()
    assert "deep/overlays/ledger/nlp/a.yaml" in added
    assert all(path.startswith("deep/overlays/") for path in added)
    assert publish(inner, Request(), company.now).commit is None


def test_a_deploy_branch_holds_the_tree_and_the_ledger_follows_every_switch(
    company: Company,
) -> None:
    change(company)
    company.publish()
    company.write("pyproject.toml", '[tool.compiler]\npublish = {branch = "deploy"}\n')
    source = change(company, args=LR2)
    done = company.publish()
    assert head(company) == source
    assert done.commit == head(company, "deploy")
    company.git("fetch", "-q", "origin", "deploy")
    assert states(company, ref="FETCH_HEAD") == ["r1 ended superseded", "r2 active "]
    files = company.git("ls-tree", "-r", "--name-only", "FETCH_HEAD").splitlines()
    assert files
    assert all(path.startswith("overlays/") for path in files)
    assert company.publish().commit is None
    company.write("pyproject.toml", "[tool.compiler]\n")
    change(company)
    company.publish()
    assert states(company) == ["r1 ended superseded", "r2 ended superseded", "r3 active "]
    assert runs(company)[-1].lineage == 1


def test_a_branch_that_was_only_asked_for_is_not_followed(company: Company) -> None:
    change(company)
    done = company.publish(branch="trial", new_branch=True)
    assert done.commit == head(company, "trial")
    assert acts(company.publish()) == [("a", "west", "h start")]
    change(company, args=LR2)
    assert acts(company.publish()) == [("a", "west", "g start")]


def test_a_branch_that_is_not_there_is_refused_with_the_nearest(company: Company) -> None:
    change(company)
    company.publish()
    with pytest.raises(CompilerError, match="`origin` has no branch `mian`") as told:
        company.publish(branch="mian")
    assert told.value.status == 2
    assert "write `main`" in told.value.help
    with pytest.raises(CompilerError, match="this clone has no branch origin/mian") as told:
        company.plan(branch="mian")
    assert "write `main`" in told.value.help
    heads = company.git("ls-remote", "origin", "refs/heads/*").splitlines()
    assert [row.partition("\t")[2] for row in heads] == ["refs/heads/main"]
    # Asked for in so many words it begins, and is found again without.
    begun = company.publish(branch="mian", new_branch=True)
    assert acts(begun) == [("a", "west", "h start")]
    assert company.publish(branch="mian").commit is None


# -- races and lost history


def race(
    company: Company, monkeypatch: pytest.MonkeyPatch, times: int, act: Callable[[], Any]
) -> None:
    """Let something happen between the fetch and the push, so many times."""
    real, left = Git.push, [times]

    def push(self: Git, *words: Any) -> None:
        if left[0]:
            left[0] -= 1
            act()
        real(self, *words)

    monkeypatch.setattr(Git, "push", push)


def test_a_lost_race_is_computed_again(company: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    change(company)
    race(company, monkeypatch, 1, lambda: change(company, name="b"))
    done = company.publish()
    assert acts(done) == [("a", "west", "h start"), ("b", "west", "h start")]
    assert [states(company, name) for name in "ab"] == [["r1 active "]] * 2


def test_of_two_publishers_one_does_the_work(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(company)
    first: list[Published] = []
    race(
        company,
        monkeypatch,
        1,
        lambda: first.append(publish(company.repository, Request(), company.now)),
    )
    second = company.publish().commit
    # In the same second, both make the very same commit.
    assert second in (None, first[0].commit)
    assert first[0].commit == head(company)
    assert states(company) == ["r1 active "]


def test_a_branch_that_never_stands_still_stops_it(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(company)
    race(company, monkeypatch, 99, company.merge)
    with pytest.raises(CompilerError, match="the branch moved 5 times"):
        company.publish()


@pytest.mark.parametrize("dropped", ["last", "first", "all"])
def test_a_force_push_that_drops_a_publish_commit_stops_publish(
    company: Company, dropped: str
) -> None:
    begin = company.git("rev-parse", "HEAD")
    change(company)
    first = company.publish().commit
    change(company, args=LR2)
    last = company.publish().commit
    keep = company.git("rev-parse", "HEAD")
    if dropped == "last":
        company.git("reset", "-q", "--hard", "HEAD~1")
    elif dropped == "all":
        company.git("checkout", "-q", begin, "--", ".")
        company.git("checkout", "-q", "--orphan", "new")
        company.commit("History begins here")
    else:
        # Even where nothing was noted beside the branch, the trailers tell.
        said = company.git("show", "-s", "--format=%B", "HEAD")
        company.git("push", "-q", "origin", ":refs/runwright/main")
        company.git("reset", "-q", "--soft", f"{first}~1")
        company.commit(said)
    company.git("push", "-q", "--force", "origin", "HEAD:main")
    before = head(company)
    with pytest.raises(LostHistory):
        publish(company.repository, Request(), company.now)
    assert head(company) == before
    # What the message says helps.
    company.git("fetch", "-q", "origin", str(last))
    company.git("merge", "-q", "--no-edit", "--allow-unrelated-histories", "-X", "theirs", keep)
    company.git("push", "-q", "origin", "HEAD:main")
    publish(company.repository, Request(), company.now)
    company.git("fetch", "-q", "origin", "main")
    assert states(company, ref="FETCH_HEAD")[:2] == ["r1 ended superseded", "r2 active "]


def test_a_history_without_its_publish_commits_stops_publish(
    company: Company, tmp_path: Path
) -> None:
    """A copy into a new repository, squashed: there are ledgers, and nobody wrote them."""
    change(company)
    company.publish()
    company.git("checkout", "-q", "--orphan", "new")
    company.commit("Moved here")
    other = tmp_path / "other.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(other)], check=True)
    company.git("remote", "add", "other", str(other))
    company.git("push", "-q", "other", "HEAD:main")
    with pytest.raises(LostHistory, match="none of the commits that wrote it"):
        publish(company.repository, Request(remote="other"), company.now)


def test_ledgers_that_contradict_one_another_stop_publish(company: Company) -> None:
    change(company)
    company.publish()
    path = "overlays/ledger/nlp/a.yaml"
    text = (company.root / path).read_text()
    digest = runs(company)[0].training
    company.write(path, text.replace(digest, digest[::-1]))
    company.git("add", "-A")
    ledger = company.git("write-tree", "--prefix=overlays/ledger")
    before = message(company)["Ledger"]
    company.commit(
        f"publish: forged\n\nSource: {head(company)}\nLedger: {ledger}\nPrevious-Ledger: {before}"
    )
    company.git("push", "-q", "origin", "HEAD:main")
    forged = head(company)
    with pytest.raises(CompilerError, match="r1 was used twice"):
        company.publish()
    assert head(company) == forged


def test_a_copied_message_over_another_tree_is_not_believed(company: Company) -> None:
    change(company)
    company.publish()
    said = company.git("show", "-s", "--format=%B", "HEAD")
    company.write("overlays/ledger/nlp/a.yaml", "version: 1\nteam: nlp\njob: a\nruns: []\n")
    company.commit(said)
    company.git("push", "-q", "origin", "HEAD:main")
    assert len(publish_commits(Git(company.root), "HEAD")) == 1
    company.publish()
    assert states(company) == ["r1 active "]


def test_digests_of_examples_are_refused_outside_an_example(company: Company) -> None:
    company.write("images/lock.yaml", f"{LOCK}    example: true\n")
    change(company)
    with pytest.raises(CompilerError, match=r"images/lock\.yaml:3: the digest of `trainer`"):
        company.publish()
    company.write("pyproject.toml", "[tool.compiler]\nexample = true\n")
    company.merge()
    assert acts(company.publish()) == [("a", "west", "h start")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no pyproject.toml"),
        ("[tool", "cannot be read"),
        ("[tool.other]\n", "no \\[tool.compiler\\]"),
        ("[tool.compiler.publish]\nbranch = 3\n", "not the name of a branch"),
    ],
)
def test_settings_that_cannot_be_read_stop_it_in_words(
    company: Company, text: str | None, said: str
) -> None:
    company.write("pyproject.toml", text)
    company.merge()
    with pytest.raises(CompilerError, match=said):
        publish(company.repository, Request(), company.now)


def test_a_remote_that_does_not_answer_is_not_an_empty_one(company: Company) -> None:
    change(company)
    company.publish()
    (company.folder / "remote.git").rename(company.folder / "gone.git")
    with pytest.raises(CompilerError, match="ls-remote"):
        publish(company.repository, Request(push=False), company.now)


def test_a_remote_of_another_name_is_named(
    company: Company, capsys: pytest.CaptureFixture[str]
) -> None:
    change(company)
    company.git("remote", "rename", "origin", "upstream")
    assert main(["--repo", str(company.root), "publish"]) == 2
    said = capsys.readouterr().err
    assert "this clone has no remote `origin`" in said
    assert "write `upstream` with --remote" in said


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            [
                "fatal: 'origin' does not appear to be a git repository",
                "fatal: Could not read from remote repository.",
                "",
                "Please make sure you have the correct access rights",
                "and the repository exists.",
            ],
            "'origin' does not appear to be a git repository",
        ),
        (
            [
                "Warning: Permanently added 'git.example.com' to the list of known hosts.",
                "git@git.example.com: Permission denied (publickey).",
                "fatal: Could not read from remote repository.",
                "",
                "Please make sure you have the correct access rights",
                "and the repository exists.",
            ],
            "git@git.example.com: Permission denied (publickey).",
        ),
        (
            [
                "remote: error: Protected branch update failed for refs/heads/main.",
                "remote: ",
                "To https://git.example.com/a/b.git",
                " ! [remote rejected] main -> main (protected branch hook declined)",
                "error: failed to push some refs to 'https://git.example.com/a/b.git'",
            ],
            (
                "Protected branch update failed for refs/heads/main.; "
                "! [remote rejected] main -> main (protected branch hook declined)"
            ),
        ),
        (
            ["fatal: unable to access 'https://me:secret@git.example.com/a/': no host"],
            "unable to access 'https://git.example.com/a/': no host",
        ),
        ([], "failed"),
    ],
)
def test_what_git_complains_of_is_what_matters_of_it(lines: list[str], said: str) -> None:
    assert complaint(lines) == said


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("remote: error: GH006: Protected branch update failed for refs/heads/live.", "`branch`"),
        ("remote: error: GH013: Repository rule violations found", "`branch`"),
        (" ! [remote rejected] live -> live (pre-receive hook declined)", "`branch`"),
        ("remote: Permission to a/b.git denied to robot[bot].", "contents: write"),
        ("fatal: unable to access 'https://x/': The requested URL returned error: 403", "write}"),
        ("git@x: Permission denied (publickey).", "credentials"),
        ("fatal: could not read Username for 'https://x': terminal prompts disabled", "credential"),
        ("remote: HTTP Basic: Access denied\nfatal: Authentication failed", "credentials"),
        ("fatal: unable to access 'https://x/': Could not resolve host: x", "can be reached"),
        ("ssh: connect to host x port 22: Connection refused", "can be reached"),
        ("fatal: unable to access 'https://x/': Failed to connect to x port 443", "can be reached"),
        ("error: RPC failed; HTTP 502 curl 22", "can be reached"),
        ("error: unable to write file: No space left on device", "make room"),
        ("remote: error: File a is 120.00 MB; this exceeds the file size limit", "make room"),
        ("fatal: 'x' does not appear to be a git repository", "set-url upstream ADDRESS"),
        ("remote: Repository not found.", "set-url upstream ADDRESS"),
        ("error: something that no host has said yet", "`branch`"),
    ],
)
def test_a_push_that_fails_is_answered_by_what_git_says(said: str, told: str) -> None:
    assert told in advice(said.splitlines(), "upstream", "live")


def test_publish_works_from_within_a_hook(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(company)
    for name, value in (("GIT_DIR", "elsewhere"), ("GIT_INDEX_FILE", "elsewhere/index")):
        monkeypatch.setitem(os.environ, name, value)
        done = publish(company.repository, Request(dry_run=True), company.now)
        assert acts(done) == [("a", "west", "h start")]
        monkeypatch.delitem(os.environ, name)
    assert read_books(Git(company.root), "HEAD").ledgers == {}
