"""`plan` says what `publish` does: over histories in real git, and for reverts."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from company import TEAM, Company, acts, job, rows, without_proof
from jsonschema import validate

from compiler.cli import main
from compiler.diagnostics import CompilerError
from compiler.runs.account import is_news
from compiler.runs.reporting import Report, as_json, as_text
from compiler.runs.supposition import Conflict, Supposition
from compiler.schemas import schemas

Step = Callable[[Company], Any]


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Company:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    without_proof(monkeypatch)
    return Company(tmp_path)


def put(path: str, text: str | None) -> Step:
    return lambda company: company.write(path, text)


def declare(name: str, **fields: object) -> Step:
    return put(f"jobs/nlp/{name}.yaml", job(**fields))


def remove(name: str) -> Step:
    return put(f"jobs/nlp/{name}.yaml", None)


def replace(path: str, old: str, new: str) -> Step:
    def step(company: Company) -> None:
        text = (company.root / path).read_text("utf-8")
        assert old in text
        company.write(path, text.replace(old, new))

    return step


def rename(old: str, new: str, was: bool) -> Step:
    def step(company: Company) -> None:
        text = (company.root / f"jobs/nlp/{old}.yaml").read_text("utf-8")
        company.write(f"jobs/nlp/{old}.yaml", None)
        company.write(f"jobs/nlp/{new}.yaml", text + (f"was: {old}\n" if was else ""))

    return step


def undo(count: int) -> Step:
    """Revert the person's commit that is `count` such commits back."""

    def step(company: Company) -> None:
        log = company.git("log", "--format=%H %s")
        people = [row.split()[0] for row in log.splitlines() if "publish:" not in row]
        company.git("revert", "--no-commit", people[count - 1])

    return step


HISTORIES: dict[str, list[Step]] = {
    "edits, and a revert as a rollback": [
        declare("a"),
        declare("a", args="[--lr, 2e-4]"),
        undo(1),
        undo(1),
        remove("a"),
        undo(1),
    ],
    "room": [
        declare("a"),
        declare("b"),
        declare("c"),
        declare("d"),
        declare("d", args="[--lr, 3e-4]"),
        remove("a"),
        put("policy/teams/nlp.yaml", TEAM.replace("guaranteed: 24", "guaranteed: 8")),
        declare("b", max_duration="48h"),
        undo(2),
    ],
    "broken, refused, stopped, expired": [
        declare("a"),
        put("jobs/nlp/a.yaml", "image: [\n"),
        declare("a", accelerators="H100:9"),
        declare("a"),
        declare("a", state="stopped"),
        declare("a", expires="2026-02-01"),
        declare("a"),
        put("policy/stops/now.yaml", "team: nlp\nreason: a leak\n"),
        put("policy/stops/now.yaml", None),
    ],
    "neutral, base, lock and settings": [
        declare("a"),
        declare("a", description="words"),
        replace("base/job/job.yaml", "kind: Job\n", "kind: Job\n# a comment\n"),
        replace("images/lock.yaml", "aa01", "aa02"),
        declare("b"),
        put("pyproject.toml", "[tool.compiler]\n# another\n"),
    ],
    "names and places": [
        declare("a"),
        rename("a", "b", was=True),
        rename("b", "c", was=False),
        declare("c", cluster="[west, east]"),
        declare("c", cluster="east"),
        remove("c"),
    ],
}  # fmt: skip


def told(report: Report) -> list[dict[str, Any]]:
    """What happens to runs, without what only a plan can say."""
    kept = [row for row in as_json(report)["runs"] if row["caused"] and row["action"] != "none"]
    return sorted(
        ({key: value for key, value in row.items() if key != "caused"} for row in kept),
        key=lambda row: (row["cluster"], row["job"], row["number"] or 0, row["action"]),
    )


def step_by_step(company: Company, steps: list[Step]) -> int:
    """Take each step, plan it, publish it, and compare; the number of runs that were touched."""
    touched = 0
    for step in steps:
        step(company)
        planned = company.plan()
        before = [row for row in told(planned.report) if row["action"] != "blocked"]
        sums = {
            (held.cluster, held.accelerator): held.after for held in planned.report.account.quota
        }
        company.merge()
        done = company.publish()
        assert done.account is not None
        report = Report(done.account, done.source, done.published, company.now)
        assert [row for row in told(report) if row["action"] != "blocked"] == before
        assert planned.refused <= done.blocked
        assert sums == {(h.cluster, h.accelerator): h.after for h in done.account.quota}
        touched += len(before)
        # Once it is published there is nothing left to plan.
        again = company.plan()
        assert again.report.account.news == []
        assert again.report.pending == [] or all(
            line.action == "blocked" for line in again.report.pending
        )
    return touched


@pytest.mark.parametrize("history", HISTORIES, ids=lambda name: name.split(",")[0])
def test_publish_does_what_plan_said_at_every_step(company: Company, history: str) -> None:
    assert step_by_step(company, HISTORIES[history]) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_publish_does_what_plan_said_in_a_random_history(company: Company, seed: int) -> None:
    dice = random.Random(seed)
    steps: list[Step] = []
    for _ in range(8):
        name = dice.choice("abc")
        rate, hours = dice.choice("123"), dice.choice((12, 24))
        fields: dict[str, object] = {"args": f"[--lr, {rate}e-4]", "max_duration": f"{hours}h"}
        if dice.random() < 0.2:
            fields["state"] = "stopped"
        if dice.random() < 0.3:
            fields["cluster"] = dice.choice(("east", "[west, east]"))
        steps.append(declare(name, **fields))
    step_by_step(company, steps)


def test_a_finished_training_does_not_start_again_and_plan_says_what_would(
    company: Company,
) -> None:
    declare("a")(company)
    company.merge()
    company.publish()
    declare("a", args="[--lr, 2e-4]")(company)
    company.merge()
    company.publish(observations=(company.seen(a_r1="succeeded"),))
    undo(1)(company)
    planned = company.plan()
    assert acts(rows(planned)) == [("a-r2@west", "stop"), ("a@west", "none")]
    text = as_text(planned.report)
    assert "WILL NOT START\n  nlp/a on west\n    r1 of this training has succeeded" in text
    assert "next: `bump` trains again" in text
    assert "on it rest: nlp/a" in text


def test_what_has_changed_is_told_in_words(company: Company) -> None:
    declare("a", env="{MODE: fast}")(company)
    company.merge()
    company.publish()
    fields = {
        "args": "[--lr, 2e-4]",
        "num_nodes": 2,
        "mounts": "{/data: {claim: datasets, read_only: true}}",
        "max_duration": "36h",
        "checkpoint": "{claim: checkpoints, path: /out, every: 30m}",
    }
    declare("a", **fields)(company)
    start = next(row for row in rows(company.plan()) if row["action"] == "start")
    assert start["differences"] == [
        "args: --lr 1e-4 → 2e-4",
        "env MODE: gone, was `fast`",
        # Several nodes talk over the interface that policy names.
        "env NCCL_SOCKET_IFNAME: new, `eth0`",
        "env GLOO_SOCKET_IFNAME: new, `eth0`",
        "data at /data: new, claim datasets (read only)",
        "nodes: 1 → 2",
        "duration: 24h → 36h",
        "checkpoints in: /ckpt → /out",
    ]
    assert (start["replaces"], start["accelerators"], start["hours"]) == (1, {"H100": 16}, "576")
    # 16 accelerators for 36 hours at 2.50: the tries share these hours.
    assert (start["cost"], start["currency"]) == ("1440", "USD")


def test_only_what_this_change_causes_is_shown(company: Company) -> None:
    declare("a")(company)
    company.merge()
    declare("b")(company)
    planned = company.plan()
    assert acts(rows(planned)) == [("b-r1@west", "start")]
    assert [line.name for line in planned.report.pending] == ["a-r1"]
    text = as_text(planned.report)
    assert "0 unchanged\n1 due at the next publish, with or without this change: nlp/a-r1" in text
    found = as_json(planned.report)
    assert (found["unchanged"], found["due"]) == (0, 1)


def test_what_is_blocked_in_any_case_is_not_due(company: Company) -> None:
    declare("a")(company)
    declare("bad", image="nobodys")(company)
    company.merge()
    declare("b")(company)
    planned = company.plan()
    text = as_text(planned.report)
    assert "1 due at the next publish, with or without this change: nlp/a-r1" in text
    assert "1 blocked for the next publish, with or without this change: nlp/bad" in text
    found = as_json(planned.report)
    assert (found["unchanged"], found["due"], found["stuck"]) == (0, 1, 1)


def test_a_change_on_an_old_main_is_planned_as_its_merge(company: Company) -> None:
    declare("a")(company)
    company.merge()
    company.publish()
    company.git("checkout", "-q", "-b", "mine")
    declare("mine")(company)
    company.commit()
    company.git("checkout", "-q", "main")
    declare("theirs")(company)
    company.merge()
    company.publish()
    company.git("checkout", "-q", "mine")
    planned = company.plan()
    assert acts(rows(planned)) == [("mine-r1@west", "start")]
    assert any("moved on by 1 commit" in note for note in planned.report.notes)
    west = next(h for h in planned.report.account.quota if h.cluster == "west")
    assert (west.before, west.after, west.limit) == (16, 24, 24)


def test_a_change_that_conflicts_is_planned_where_it_started(company: Company) -> None:
    declare("a")(company)
    company.merge()
    company.publish()
    company.git("checkout", "-q", "-b", "mine")
    declare("a", args="[--lr, 5e-4]")(company)
    company.commit()
    company.git("checkout", "-q", "main")
    declare("a", args="[--lr, 6e-4]")(company)
    company.merge()
    company.publish()
    company.git("checkout", "-q", "mine")
    planned = company.plan()
    assert any("it conflicts with" in note for note in planned.report.notes)
    assert any("jobs/nlp/a.yaml" in note for note in planned.report.notes)


def untouched(company: Company) -> tuple[str, ...]:
    """Everything that a plan must leave as it was."""
    files = sorted(
        # git touches an object that it would write again.
        f"{path.relative_to(company.root)}"
        f" {path.stat().st_mtime_ns if 'objects' not in path.parts else ''}"
        for path in company.root.rglob("*")
        if path.is_file() and "cache" not in path.parts
    )
    return (
        company.git("for-each-ref"),
        company.git("count-objects", "-v"),
        company.git("--no-optional-locks", "status", "--porcelain"),
        *files,
    )


def test_plan_leaves_the_repository_alone_and_asks_no_remote(company: Company) -> None:
    declare("a")(company)
    company.merge()
    company.publish()
    declare("b")(company)
    declare("a", args="[--lr, 2e-4]")(company)
    company.git("add", "jobs/nlp/a.yaml")
    (company.folder / "remote.git").rename(company.folder / "gone.git")
    before = untouched(company)
    assert acts(rows(company.plan(diff=True))) == [
        ("a-r1@west", "stop"),
        ("a-r2@west", "start"),
        ("b-r1@west", "start"),
    ]
    company.plan(revert=("HEAD~1",))
    assert set(untouched(company)) ^ set(before) == set()


@pytest.mark.parametrize("how", ["one", "range", "merge"])
def test_a_planned_revert_is_what_the_revert_then_does(company: Company, how: str) -> None:
    declare("a")(company)
    declare("keep")(company)
    company.merge()
    company.publish()
    if how == "merge":
        company.git("checkout", "-q", "-b", "side")
        declare("a", args="[--lr, 2e-4]")(company)
        company.commit()
        company.git("checkout", "-q", "main")
        company.git("merge", "-q", "--no-ff", "-m", "Merge side", "side")
        words, real = ("HEAD",), ("-m", "1", "HEAD")
    else:
        declare("a", args="[--lr, 2e-4]")(company)
        first = company.merge()
        company.publish()
        declare("b")(company)
        last = company.merge()
        words = (first,) if how == "one" else (f"{first}~1..{last}",)
        real = (first,) if how == "one" else (last, first)
    if how == "merge":
        words = (company.git("rev-parse", "HEAD"),)
        real = ("-m", "1", words[0])
        company.git("push", "-q", "origin", "main")
    company.publish()
    planned = company.plan(revert=words)
    expected = told(planned.report)
    assert ("a-r3@west", "resume") in acts(rows(planned))
    assert ("keep-r1@west", "none") not in acts(rows(planned))
    company.git("revert", "--no-edit", *real)
    assert told(company.plan().report) == expected
    company.git("push", "-q", "origin", "main")
    done = company.publish()
    assert done.account is not None
    assert told(Report(done.account, done.source, done.published, company.now)) == expected


def test_a_revert_that_conflicts_names_the_files(company: Company) -> None:
    declare("a")(company)
    company.merge()
    declare("a", args="[--lr, 2e-4]")(company)
    second = company.merge()
    declare("a", args="[--lr, 3e-4]")(company)
    company.merge()
    with pytest.raises(Conflict, match=r"reverting .* conflicts in jobs/nlp/a\.yaml"):
        company.plan(revert=(second,))


@pytest.mark.parametrize("version", ["2.37.1", "2.20.0.windows.1", "1.9"])
def test_a_git_that_cannot_merge_trees_is_named(
    company: Company,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    version: str,
) -> None:
    declare("a")(company)
    made = company.merge()
    real = Supposition.attempt

    def attempt(git: Supposition, *words: str, **more: Any) -> tuple[int, bytes, list[str]]:
        if words[0] == "merge-tree":
            return 129, b"", ["usage: git merge-tree <base-tree> <branch1> <branch2>"]
        if words == ("version",):
            return 0, f"git version {version}\n".encode(), []
        return real(git, *words, **more)

    monkeypatch.setattr(Supposition, "attempt", attempt)
    assert main(["plan", "--revert", made, "--repo", str(company.root)]) == 2
    said = capsys.readouterr().err
    assert f"git 2.38 or newer is needed, and this is {version}" in said


def test_a_revert_of_a_publish_commit_undoes_no_run(company: Company) -> None:
    declare("a")(company)
    company.merge()
    done = company.publish()
    assert done.commit is not None
    planned = company.plan(revert=(done.commit,))
    assert rows(planned) == []
    assert any("is a publish commit" in note for note in planned.report.notes)


def test_a_commit_that_is_not_there_cannot_be_reverted(company: Company) -> None:
    company.git("checkout", "-q", "-b", "mine")
    declare("a")(company)
    mine = company.commit()
    with pytest.raises(CompilerError, match="there is nothing to revert"):
        company.plan(revert=(mine,))
    with pytest.raises(CompilerError, match="there is no commit `nonsense`"):
        company.plan(revert=("nonsense",))


def test_a_rename_without_was_is_flagged_and_one_with_it_is_not(company: Company) -> None:
    declare("a")(company)
    company.merge()
    company.publish()
    rename("a", "b", was=False)(company)
    found = {row["name"]: row["risks"] for row in rows(company.plan())}
    assert found == {"a-r1": [], "b-r1": ["looks-like-rename"]}
    company.write("jobs/nlp/b.yaml", job(was="a"))
    assert rows(company.plan()) == []


def test_risks_are_told(company: Company) -> None:
    declare("a", checkpoint=None)(company)
    declare("b", stop="{grace: 30s}", command=None)(company)
    found = {row["name"]: row["risks"] for row in rows(company.plan())}
    assert found == {
        "a-r1": ["unguarded", "no-checkpoint"],
        "b-r1": ["unguarded", "short-grace"],
    }


def test_a_run_that_looks_for_checkpoints_elsewhere_is_said_to(company: Company) -> None:
    west = "policy/clusters/west.yaml"
    replace(west, "datasets: {", "larger: {access: ReadWriteMany}\n  datasets: {")(company)
    declare("a")(company)
    company.merge()
    company.publish()
    declare("a", checkpoint="{claim: larger, path: /ckpt, every: 30m}")(company)
    (resumes,) = (row for row in rows(company.plan()) if row["action"] == "resume")
    assert resumes["risks"] == ["other-volume"]
    text = as_text(company.plan().report)
    saved = "r1 saved on the claim checkpoints, and it looks on the claim larger"
    assert f"risk: other-volume: {saved}: without a copy there it begins from zero" in text
    # Another namespace has other volumes.
    declare("a", max_duration="25h")(company)
    company.write("policy/teams/nlp.yaml", TEAM.replace("p-nlp", "p-language"))
    text = as_text(company.plan().report)
    saved = "r1 saved on the claim checkpoints in p-nlp, and it looks on the claim checkpoints in"
    assert f"risk: other-volume: {saved} p-language" in text


def test_a_run_that_saved_nothing_begins_from_zero(company: Company) -> None:
    declare("a", checkpoint=None)(company)
    company.merge()
    company.publish()
    declare("a", checkpoint=None, max_duration="25h")(company)
    text = as_text(company.plan().report)
    assert "r1 of this training was not finished and saved nothing: it begins from zero" in text
    assert "from the checkpoints of" not in text
    (row,) = (row for row in rows(company.plan()) if row["action"] == "resume")
    assert row["from"] is None


def test_a_change_of_policy_that_makes_room_is_planned(company: Company) -> None:
    for name in "abcd":
        declare(name)(company)
    company.merge()
    company.publish()
    company.write("policy/teams/nlp.yaml", TEAM.replace("guaranteed: 24", "guaranteed: 32"))
    planned = company.plan()
    assert acts(rows(planned)) == [("d-r1@west", "start")]
    west = next(h for h in planned.report.account.quota if h.cluster == "west")
    assert (west.before, west.after, west.limit) == (24, 32, 32)


def test_base_and_lock_reach_new_runs_alone(company: Company) -> None:
    declare("a")(company)
    company.merge()
    company.publish()
    replace("images/lock.yaml", "aa01", "aa02")(company)
    replace("base/job/job.yaml", "kind: Job\n", "kind: Job\n# words\n")(company)
    planned = company.plan()
    assert rows(planned) == []
    notes = " ".join(planned.report.notes)
    assert "base/ changes" in notes
    assert "images/ changes" in notes


def test_the_stop_guard_withholds_in_a_plan_and_only_warns_for_a_revert(
    company: Company,
) -> None:
    company.write("policy/rules.yaml", "stop_guard: 0.5\n")
    company.merge()
    declare("a")(company)
    declare("b")(company)
    added = company.merge()
    company.publish()
    remove("a")(company)
    remove("b")(company)
    planned = company.plan()
    assert planned.refused
    assert acts(rows(planned)) == [("a-r1@west", "blocked"), ("b-r1@west", "blocked")]
    assert not company.plan(allow_stops=2).refused
    reverted = company.plan(revert=(added,))
    assert not reverted.refused
    assert acts(rows(reverted)) == [("a-r1@west", "stop"), ("b-r1@west", "stop")]
    assert reverted.report.account.guard is not None


def two_more(company: Company) -> list[str]:
    """Two runs, each published for itself, under a stop guard that lets none of both go."""
    company.write("policy/rules.yaml", "stop_guard: 0.5\n")
    declare("keep")(company)
    company.merge()
    company.publish()
    made: list[str] = []
    for name in ("a", "b"):
        declare(name)(company)
        made.append(company.merge())
        company.publish()
    return made


def undo_at_once(company: Company, made: list[str]) -> None:
    company.git("revert", "--no-edit", *reversed(made))


def undo_as_one_commit(company: Company, made: list[str]) -> None:
    """Squashed: the message keeps what git wrote."""
    company.git("revert", "--no-commit", *reversed(made))
    company.git("commit", "-qm", "".join(f"This reverts commit {name}.\n\n" for name in made))


def undo_in_a_merge(company: Company, made: list[str]) -> None:
    company.git("checkout", "-q", "-b", "undo")
    company.git("revert", "--no-edit", *reversed(made))
    company.git("checkout", "-q", "main")
    company.git("merge", "-q", "--no-ff", "-m", "Go back", "undo")


def go_back_by_hand(company: Company, made: list[str]) -> None:
    """No word of a revert, but all is as it was at an earlier publish."""
    company.git("rm", "-q", "jobs/nlp/a.yaml", "jobs/nlp/b.yaml")
    company.git("commit", "-qm", "Take them out")


def undo_after_words(company: Company, made: list[str]) -> None:
    """Something was merged since the last publish, and no run stops for it."""
    declare("keep", description="other words")(company)
    company.merge()
    assert company.publish().commit is None
    company.git("revert", "--no-edit", *reversed(made))


def undo_and_change_a_third(company: Company, made: list[str]) -> None:
    company.git("revert", "--no-edit", *reversed(made))
    declare("keep", args="[--lr, 9e-4]")(company)
    company.commit()


def claim_to_revert(company: Company, made: list[str]) -> None:
    """A message that says so over another change."""
    company.git("rm", "-q", "jobs/nlp/a.yaml", "jobs/nlp/b.yaml", "jobs/nlp/keep.yaml")
    company.git("commit", "-qm", f"Go back\n\nThis reverts commit {made[1]}.")


def revert_what_is_reverted_again(company: Company, made: list[str]) -> None:
    """Of three reverts one is taken back: what is left undoes one commit, and nothing else."""
    declare("keep", description="other words")(company)
    third = company.merge()
    company.publish()
    company.git("revert", "--no-edit", *reversed(made), third)
    company.git("revert", "--no-edit", "HEAD")


PURE = (undo_at_once, undo_as_one_commit, undo_in_a_merge, go_back_by_hand)
ALSO_PURE = (undo_after_words, revert_what_is_reverted_again)
IMPURE = (undo_and_change_a_third, claim_to_revert)


@pytest.mark.parametrize("undo", [*PURE, *ALSO_PURE, *IMPURE], ids=lambda undo: undo.__name__)
def test_publish_knows_a_revert_as_plan_does(
    company: Company, undo: Callable[[Company, list[str]], None]
) -> None:
    """The stop guard withholds nothing of what only undoes, in whatever shape it comes."""
    made = two_more(company)
    undo(company, made)
    planned = company.plan()
    pure = undo in (*PURE, *ALSO_PURE)
    assert planned.report.account.guard is not None
    assert planned.refused == (not pure)
    expected = told(planned.report)
    company.git("push", "-q", "origin", "main")
    for _ in range(2):
        # Also when it is done again, as after a crash.
        done = company.publish(dry_run=True)
        assert done.account is not None
        assert done.account.guard is not None
        assert done.account.guard.withheld == (not pure)
    done = company.publish()
    assert done.account is not None
    assert told(Report(done.account, done.source, done.published, company.now)) == expected
    stopped = {end.number for item in done.outcome.decisions for end in item.decision.ends}
    assert bool(stopped) == pure
    assert company.publish().commit is None


def test_a_planned_revert_beside_an_unpublished_change_is_no_pure_one(company: Company) -> None:
    """Publish would be asked to do both."""
    made = two_more(company)
    declare("keep", args="[--lr, 9e-4]")(company)
    company.merge()
    assert company.plan(revert=made).refused
    company.publish()
    assert not company.plan(revert=made).refused


def test_ledgers_on_a_deploy_branch_are_read_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    without_proof(monkeypatch)
    company = Company(tmp_path, 'publish = {branch = "deploy"}\n')
    declare("a")(company)
    assert acts(rows(company.plan())) == [("a-r1@west", "start")]
    company.merge()
    company.publish()
    assert company.git("ls-tree", "--name-only", "origin/main", "overlays") == ""
    planned = company.plan()
    assert (rows(planned), planned.report.pending) == ([], [])
    assert planned.report.published == company.git("rev-parse", "origin/deploy")


def test_a_change_that_moves_to_a_deploy_branch_starts_nothing_again(company: Company) -> None:
    declare("a")(company)
    company.merge()
    company.publish()
    company.write("pyproject.toml", '[tool.compiler]\npublish = {branch = "deploy"}\n')
    assert rows(company.plan()) == []
    company.merge()
    assert rows(company.plan()) == []
    done = company.publish()
    assert [line.action for line in done.account.news] == []  # type: ignore[union-attr]
    declare("b")(company)
    assert acts(rows(company.plan())) == [("b-r1@west", "start")]


def test_without_a_remote_the_work_tree_is_compared_with_head(company: Company) -> None:
    declare("a")(company)
    company.merge()
    company.publish()
    company.git("remote", "remove", "origin")
    remove("a")(company)
    planned = company.plan()
    assert acts(rows(planned)) == [("a-r1@west", "stop")]
    assert any("no remote `origin`" in note for note in planned.report.notes)


def test_an_unknown_default_branch_asks_for_a_base(company: Company) -> None:
    company.git("push", "-q", "origin", "main:master")
    company.git("remote", "set-head", "origin", "--delete")
    with pytest.raises(CompilerError, match="does not know the default branch") as error:
        company.plan()
    assert "--base origin/BRANCH" in error.value.help
    assert rows(company.plan(base="origin/main")) == []


def run(company: Company, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["--repo", str(company.root), "--at", company.now.isoformat(), *words])
    caught = capsys.readouterr()
    return status, caught.out, caught.err


def test_the_verb_exits_1_for_a_job_that_the_change_blocks_and_for_no_other(
    company: Company, capsys: pytest.CaptureFixture[str]
) -> None:
    company.write("jobs/nlp/a.yaml", "image: [\n")
    status, out, _ = run(company, capsys, "plan")
    assert (status, "BLOCKED" in out) == (1, True)
    company.merge()
    declare("b")(company)
    status, out, _ = run(company, capsys, "plan")
    assert (status, "BLOCKED" in out) == (0, False)
    status, out, _ = run(company, capsys, "plan", "--markdown")
    assert out.startswith("<!-- runwright-plan -->\n")


def test_what_plan_and_publish_print_for_programs_is_as_the_schema_says(
    company: Company, capsys: pytest.CaptureFixture[str]
) -> None:
    declare("a")(company)
    status, out, _ = run(company, capsys, "plan", "--format", "json")
    planned = json.loads(out)
    validate(planned, schemas()["plan"])
    assert status == 0
    company.merge()
    status, out, _ = run(company, capsys, "publish", "--format", "json")
    published = json.loads(out)
    validate(published, schemas()["plan"])
    company.git("fetch", "-q", "origin")
    assert published["commit"] == company.git("rev-parse", "origin/main")
    assert published["runs"] == planned["runs"]
    status, out, _ = run(company, capsys, "publish", "--format", "json")
    assert (status, json.loads(out)["commit"]) == (0, None)


def test_a_shallow_clone_is_named(company: Company, capsys: pytest.CaptureFixture[str]) -> None:
    declare("a")(company)
    company.merge()
    shallow = company.folder / "shallow"
    remote = f"file://{company.folder / 'remote.git'}"
    subprocess.run(["git", "clone", "-q", "--depth", "1", remote, str(shallow)], check=True)
    assert main(["--repo", str(shallow), "plan"]) == 2
    assert "fetch-depth: 0" in capsys.readouterr().err


def test_no_git_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.compiler]\n")
    assert main(["--repo", str(tmp_path), "plan"]) == 2
    assert "not in a git repository" in capsys.readouterr().err


def test_runs_shows_every_run_also_of_a_job_that_is_gone(
    company: Company, capsys: pytest.CaptureFixture[str]
) -> None:
    declare("a")(company)
    first = company.merge()
    company.publish()
    declare("a", args="[--lr, 2e-4]")(company)
    company.merge()
    company.publish()
    remove("a")(company)
    company.merge()
    company.publish(observations=(company.seen(a_r2="succeeded"),))
    status, out, _ = run(company, capsys, "runs", "a")
    assert status == 0
    table = [line.split() for line in out.splitlines()[1:]]
    assert table[0] == ["run", "cluster", "state", "reason", "outcome", "published", "began",
                        "ended", "accelerators", "hours", "from", "commit"]  # fmt: skip
    assert table[1][:5] == ["r1", "west", "ended", "superseded", "unknown"]
    assert table[1][-1] == first[:12]
    assert table[2][:5] == ["r2", "west", "ended", "finished", "succeeded"]
    assert run(company, capsys, "runs", "nlp/a")[1] == out
    assert run(company, capsys, "runs", "jobs/nlp/a.yaml")[1] == out
    status, out, err = run(company, capsys, "runs", "b")
    assert (status, out) == (2, "")
    assert "there is no job `b`" in err


def test_runs_of_an_ambiguous_name_exit_2_with_the_candidates(
    company: Company, capsys: pytest.CaptureFixture[str]
) -> None:
    company.write("policy/teams/cv.yaml", TEAM.replace("p-nlp", "p-cv"))
    company.write("jobs/cv/a.yaml", job())
    declare("a")(company)
    company.merge()
    company.publish()
    status, _, err = run(company, capsys, "runs", "a")
    assert (status, "cv/a, nlp/a" in err) == (2, True)
    assert run(company, capsys, "runs", "cv/a")[0] == 0


def test_news_is_what_acts(company: Company) -> None:
    declare("a")(company)
    company.merge()
    done = company.publish()
    again = company.publish()
    assert [is_news(item) for item in done.outcome.decisions] == [True]
    assert [is_news(item) for item in again.outcome.decisions] == [False]
    assert again.commit is None


def test_all_jobs_of_a_deleted_team_are_blocked_and_said_to_break(company: Company) -> None:
    for name in ("a", "b"):
        company.write(f"jobs/nlp/{name}.yaml", job())
    company.write("jobs/c.yaml", "team: nlp\n" + job(max_duration="1h"))
    company.merge()
    company.publish()
    company.write("policy/teams/nlp.yaml", None)
    planned = company.plan()
    assert {row["job"] for row in rows(planned) if row["action"] == "blocked"} == {"a", "b", "c"}
    (effect,) = planned.report.effects
    assert (effect.rule, effect.jobs) == ("unknown-team", ("nlp/a", "nlp/b", "nlp/c"))


def test_a_tree_that_publish_refuses_starts_nothing_in_plan_either(company: Company) -> None:
    lock = (company.root / "images/lock.yaml").read_text("utf-8")
    declare("a")(company)
    company.merge()
    company.write("images/lock.yaml", f"{lock}    example: true\n")
    planned = company.plan()
    assert planned.refused
    assert "publish refuses this tree: images/lock.yaml:3: the digest of `trainer`" in as_text(
        planned.report
    )
    company.write("pyproject.toml", "[tool.compiler]\nexample = true\n")
    assert not company.plan().refused
    assert "refuses this tree" not in as_text(company.plan().report)
