"""`check --actor`: whose quota a change spends (foreign-quota, unresolved-owner)."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from compiler.cli import main

ROOT = Path(__file__).parent.parent
JOB = """\
{team}image: llm-sft
accelerators: H100:8
queue: research
max_duration: 4h
checkpoint: {{claim: checkpoints, path: /ckpt, every: 30m, keep: 3}}
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "repository"
    folder.mkdir()
    shutil.copy(ROOT / "pyproject.toml", folder)
    for part in ("policy", "images", "base", "configs"):
        shutil.copytree(ROOT / part, folder / part, symlinks=True)
    owners(folder, "nlp", "[kim, Lee-NLP]")
    (folder / "jobs/nlp").mkdir(parents=True)
    (folder / "jobs/nlp/inside.yaml").write_text(JOB.format(team=""), "utf-8")
    (folder / "jobs/outside.yaml").write_text(JOB.format(team="team: nlp\n"), "utf-8")
    return folder


def owners(root: Path, team: str, said: str) -> None:
    path = root / f"policy/teams/{team}.yaml"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(f"owners: {said}\n" if x.startswith("owners:") else x for x in lines))


def git(root: Path, *words: str) -> str:
    who = ("-c", "user.name=kim", "-c", "user.email=kim@example.com")
    done = subprocess.run(
        ("git", *who, *words), cwd=root, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(root: Path) -> str:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Change")
    return git(root, "rev-parse", "HEAD")


def found(root: Path, capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    main(["--repo", str(root), "--format", "json", "check", *words])
    return [
        item
        for item in json.loads(capsys.readouterr().out)["findings"]
        if item["rule"] in ("foreign-quota", "unresolved-owner")
    ]


def where(items: list[dict[str, Any]]) -> list[tuple[str, str, int, int]]:
    return [(item["rule"], item["path"], item["line"], item["column"]) for item in items]


def test_each_declaration_of_a_team_that_the_actor_does_not_own_is_told_of(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = found(root, capsys, "--actor", "mallory")
    assert where(items) == [
        ("foreign-quota", "jobs/nlp/inside.yaml", 1, 1),
        ("foreign-quota", "jobs/outside.yaml", 1, 7),
    ]
    assert "@mallory is none of its owners (@kim, @Lee-NLP)" in items[0]["message"]
    assert items[0]["severity"] == "warning"
    (related,) = items[0]["related"]
    assert related["path"] == "policy/teams/nlp.yaml"


@pytest.mark.parametrize("login", ["kim", "@kim", "KIM", "lee-nlp"])
def test_an_owner_is_told_nothing_whatever_the_case(
    root: Path, capsys: pytest.CaptureFixture[str], login: str
) -> None:
    assert found(root, capsys, "--actor", login) == []
    assert found(root, capsys) == []


def test_a_team_of_the_host_is_not_guessed_about(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    owners(root, "nlp", "[kim, example-org/nlp]")
    items = found(root, capsys, "--actor", "mallory", "jobs/outside.yaml")
    assert where(items) == [("unresolved-owner", "jobs/outside.yaml", 1, 7)]
    assert items[0]["severity"] == "notice"
    assert found(root, capsys, "--actor", "kim") == []
    # A login that is spelt like the team of the host is a login all the same.
    assert [i["rule"] for i in found(root, capsys, "--actor", "nlp", "jobs/outside.yaml")] == [
        "unresolved-owner"
    ]


def test_with_a_base_only_what_the_change_touches_counts(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(root, "init", "-q", "-b", "main")
    (root / ".gitignore").write_text(".cache/\n", "utf-8")
    (root / "configs/extra.txt").write_text("1\n", "utf-8")
    mounting = JOB.format(team="") + "files: {/etc/extra: configs/extra.txt}\n"
    (root / "jobs/nlp/mounting.yaml").write_text(mounting, "utf-8")
    start = commit(root)
    words = ("--actor", "mallory", "--base", "main")
    git(root, "checkout", "-q", "-b", "change")
    assert found(root, capsys, *words) == []
    path = root / "jobs/outside.yaml"
    path.write_text(path.read_text("utf-8") + "description: more\n", "utf-8")
    # What is not committed yet counts as well.
    assert [item["path"] for item in found(root, capsys, *words)] == ["jobs/outside.yaml"]
    commit(root)
    assert [item["path"] for item in found(root, capsys, *words)] == ["jobs/outside.yaml"]
    # What others have merged meanwhile is not this author's.
    git(root, "checkout", "-q", "main")
    inside = root / "jobs/nlp/inside.yaml"
    inside.write_text(inside.read_text("utf-8") + "description: more\n", "utf-8")
    commit(root)
    git(root, "checkout", "-q", "change")
    assert [item["path"] for item in found(root, capsys, *words)] == ["jobs/outside.yaml"]
    # A file that a declaration mounts is a part of it.
    git(root, "checkout", "-q", "-b", "other", start)
    (root / "configs/extra.txt").write_text("2\n", "utf-8")
    commit(root)
    assert [item["path"] for item in found(root, capsys, *words)] == ["jobs/nlp/mounting.yaml"]


def test_policy_may_silence_it(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = root / "policy/rules.yaml"
    text = rules.read_text("utf-8").replace("severity: {", 'severity: {foreign-quota: "off", ')
    rules.write_text(text, "utf-8")
    assert found(root, capsys, "--actor", "mallory") == []


def test_an_unknown_base_and_a_base_without_an_actor_are_refused(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(root, "init", "-q", "-b", "main")
    commit(root)
    assert main(["--repo", str(root), "check", "--actor", "kim", "--base", "nowhere"]) == 2
    assert "there is no commit `nowhere`" in capsys.readouterr().err
    assert main(["--repo", str(root), "check", "--base", "main"]) == 2


@pytest.mark.parametrize("actor", ["", "mallory"])
def test_the_script_that_pipelines_call_asks_about_the_author_where_there_is_one(
    tmp_path: Path, actor: str
) -> None:
    program = tmp_path / "compiler/.venv/bin/runwright"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', "utf-8")
    program.chmod(0o755)
    done = subprocess.run(
        [
            "sh",
            str(ROOT / "ci/check.sh"),
            str(tmp_path / "compiler"),
            "pr",
            "0123",
            "--format",
            "x",
        ],
        env={"ACTOR": actor, "PATH": "/usr/bin:/bin"},
        check=True,
        capture_output=True,
        text=True,
    )
    more = ["--actor", actor, "--base", "0123"] if actor else []
    assert done.stdout.split() == ["--repo", "pr", "check", "--format", "x", *more]


def gone(root: Path, capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    main(["--repo", str(root), "--format", "json", "check", *words])
    rules = ("foreign-run-stopped", "unresolved-owner")
    return [x for x in json.loads(capsys.readouterr().out)["findings"] if x["rule"] in rules]


def test_whoever_ends_the_job_of_another_team_is_told_of(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(root, "init", "-q", "-b", "main")
    (root / ".gitignore").write_text(".cache/\n", "utf-8")
    commit(root)
    git(root, "checkout", "-q", "-b", "change")
    words = ("--actor", "mallory", "--base", "main")
    assert gone(root, capsys, *words) == []
    (root / "jobs/nlp/inside.yaml").unlink()
    (item,) = gone(root, capsys, *words)
    assert (item["rule"], item["path"], item["line"]) == (
        "foreign-run-stopped",
        "policy/teams/nlp.yaml",
        4,
    )
    assert item["message"] == (
        "nlp/inside is no longer declared (jobs/nlp/inside.yaml), so that its runs are stopped; "
        "@mallory is none of its owners (@kim, @Lee-NLP)"
    )
    commit(root)
    assert len(gone(root, capsys, *words)) == 1
    assert gone(root, capsys, "--actor", "kim", "--base", "main") == []
    # What others have merged meanwhile is not this author's.
    git(root, "checkout", "-q", "main")
    (root / "jobs/outside.yaml").unlink()
    commit(root)
    git(root, "checkout", "-q", "change")
    assert len(gone(root, capsys, *words)) == 1
    # Nobody becomes an owner by the change that needs one.
    owners(root, "nlp", "[mallory]")
    (item,) = gone(root, capsys, *words)
    assert (item["rule"], item["line"]) == ("foreign-run-stopped", 4)
    assert "(@kim, @Lee-NLP)" in item["message"]
    # Nor by removing the team at once.
    (root / "policy/teams/nlp.yaml").unlink()
    (item,) = gone(root, capsys, *words)
    assert (item["rule"], item["path"]) == ("foreign-run-stopped", "jobs/nlp/inside.yaml")


def test_owners_that_are_teams_of_the_host_are_asked(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    owners(root, "nlp", "[kim, example-org/nlp]")
    git(root, "init", "-q", "-b", "main")
    (root / ".gitignore").write_text(".cache/\n", "utf-8")
    commit(root)
    (root / "jobs/nlp/inside.yaml").unlink()
    (item,) = gone(root, capsys, "--actor", "mallory", "--base", "main")
    assert item["rule"] == "unresolved-owner"


def test_jobs_of_a_change_spend_what_its_base_gives_to_others(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(root, "init", "-q", "-b", "main")
    (root / ".gitignore").write_text(".cache/\n", "utf-8")
    commit(root)
    owners(root, "nlp", "[mallory]")
    (root / "jobs/nlp/new.yaml").write_text(JOB.format(team=""), "utf-8")
    main(["--repo", str(root), "--format", "json", "check", "--actor", "mallory", "--base", "main"])
    found = json.loads(capsys.readouterr().out)["findings"]
    (item,) = [item for item in found if item["rule"] == "foreign-quota"]
    assert "@mallory is none of its owners (@kim, @Lee-NLP)" in item["message"]


@pytest.mark.parametrize(
    ("path", "text", "ended"),
    [
        # The same job in another place, and under another name.
        ("jobs/nlp/outside.yaml", JOB.format(team=""), False),
        ("jobs/nlp/renamed.yaml", JOB.format(team="") + "was: outside\n", False),
        ("jobs/nlp/renamed.yaml", JOB.format(team=""), True),
        # It is another team's from now on.
        ("jobs/outside.yaml", JOB.format(team="team: vision\n"), True),
        # A file that nobody can read is not absent.
        ("jobs/outside.yaml", "team: [\n", False),
    ],
)
def test_a_job_that_goes_on_under_another_path_or_name_is_not_ended(
    path: str, text: str, ended: bool, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(root, "init", "-q", "-b", "main")
    commit(root)
    (root / "jobs/outside.yaml").unlink()
    (root / path).write_text(text, "utf-8")
    said = gone(root, capsys, "--actor", "mallory", "--base", "main")
    assert [
        item["message"].split()[0] for item in said if item["rule"] == "foreign-run-stopped"
    ] == (["nlp/outside"] if ended else [])
