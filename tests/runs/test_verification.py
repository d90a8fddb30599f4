"""`check` finds whatever but publish has changed under `overlays/`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from company import Company, job, without_proof

from compiler.cli import main
from compiler.diagnostics import Finding
from compiler.repository import Repository
from compiler.runs import verification
from compiler.runs.verification import MOST, Verified, verified


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Company:
    """With one run published."""
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    without_proof(monkeypatch)
    made = Company(tmp_path)
    made.write("jobs/nlp/a.yaml", job())
    made.merge()
    made.publish()
    return made


RUN = "overlays/west/nlp/a/r1/run.yaml"
BOOK = "overlays/ledger/nlp/a.yaml"


def found(company: Company) -> list[Finding]:
    told = verified(company.repository)
    assert told.skipped == ""
    return told.findings


def rules(company: Company) -> list[tuple[str, str]]:
    return [(item.rule, item.place.path) for item in found(company)]


def spoil(company: Company, path: str) -> None:
    file = company.root / path
    file.write_bytes(file.read_bytes() + b"# by hand\n")


def test_what_publish_wrote_is_silent(company: Company) -> None:
    company.write("jobs/nlp/b.yaml", job())
    assert rules(company) == []
    company.commit()
    assert rules(company) == []


def test_a_tampered_overlay_is_found_before_and_after_its_commit(company: Company) -> None:
    newest = company.git("rev-parse", "HEAD")
    spoil(company, RUN)
    assert rules(company) == [("edited-overlay", RUN)]
    commit = company.commit()
    (only,) = found(company)
    assert (only.rule, only.place.path, only.place.line) == ("edited-overlay", RUN, 1)
    assert f"commit {commit[:7]}" in only.message
    assert only.help == f"git checkout {newest[:12]} -- overlays/"
    # The help helps.
    company.git("checkout", newest[:12], "--", "overlays/")
    company.commit()
    assert rules(company) == []


@pytest.mark.parametrize("how", ["changed", "deleted", "added", "renamed"])
def test_any_hand_edit_of_the_ledger_is_found(company: Company, how: str) -> None:
    other = "overlays/ledger/nlp/b.yaml"
    if how == "changed":
        spoil(company, BOOK)
    elif how == "deleted":
        company.write(BOOK, None)
    elif how == "added":
        shutil.copy(company.root / BOOK, company.root / other)
    else:
        company.git("mv", BOOK, other)
    names = {"changed": [BOOK], "deleted": [BOOK], "added": [other], "renamed": [BOOK, other]}
    expected = [("edited-ledger", path) for path in names[how]]
    assert sorted(rules(company)) == expected
    company.commit()
    assert sorted(rules(company)) == expected


def test_a_pull_request_behind_main_is_not_blamed_for_what_publish_wrote_since(
    company: Company,
) -> None:
    company.git("checkout", "-q", "-b", "mine")
    company.write("jobs/nlp/mine.yaml", job(max_duration="2h"))
    company.commit()
    company.git("checkout", "-q", "main")
    company.write("jobs/nlp/b.yaml", job(max_duration="3h"))
    company.merge()
    company.publish()
    company.git("checkout", "-q", "mine")
    assert rules(company) == []
    # As a CI system checks it out: merged into main.
    company.git("merge", "-q", "--no-edit", "main")
    assert rules(company) == []


def test_a_reverted_publish_commit_is_found_until_the_next_publish(company: Company) -> None:
    company.git("revert", "--no-edit", "HEAD")
    assert ("edited-ledger", BOOK) in rules(company)
    company.git("push", "-q", "origin", "HEAD:main")
    company.publish()
    assert rules(company) == []


def test_overlays_that_were_deleted_together_are_one_mistake_of_each_kind(
    company: Company,
) -> None:
    company.git("rm", "-r", "-q", "overlays")
    for _ in ("not committed", "committed"):
        told = found(company)
        assert sorted(item.rule for item in told) == ["edited-ledger", "edited-overlay"]
        overlay = next(item for item in told if item.rule == "edited-overlay")
        assert "more that are gone with it" in overlay.message
        company.commit()


def test_many_edits_are_counted(company: Company) -> None:
    for number in range(MOST + 5):
        company.write(f"overlays/west/nlp/x{number}.yaml", "a: 1\n")
    told = found(company)
    assert len(told) == MOST
    assert "and 5 more files" in told[-1].message


def published(company: Company, previous: str) -> str:
    """A commit that says of itself what a publish commit says; returns its ledger."""
    company.git("add", "-A")
    ledger = company.git("write-tree", "--prefix=overlays/ledger/")
    trailers = f"Source: 1a2b3c\nLedger: {ledger}\nPrevious-Ledger: {previous}"
    company.git("commit", "-q", "-m", "publish: by hand", "-m", trailers)
    return ledger


def test_a_publish_commit_that_comes_with_a_change_is_found(company: Company) -> None:
    first = company.git("rev-parse", "HEAD:overlays/ledger")
    spoil(company, BOOK)
    published(company, first)
    assert [rule for rule, _ in rules(company)] == ["publish-commit-in-change"]
    # Once the branch has it, it is no change any more.
    company.git("push", "-q", "origin", "HEAD:main")
    assert rules(company) == []


def test_a_dropped_publish_commit_is_found(company: Company) -> None:
    spoil(company, BOOK)
    published(company, "0123456789abcdef0123456789abcdef01234567")
    company.git("push", "-q", "origin", "HEAD:main")
    (only,) = found(company)
    assert only.rule == "lost-publish-commit"
    assert "0123456789ab" in only.message


def test_a_lost_entry_is_found(company: Company) -> None:
    first = company.git("rev-parse", "HEAD:overlays/ledger")
    text = (company.root / BOOK).read_text("utf-8")
    company.write(BOOK, text[: text.index("runs:")] + "runs: []\n")
    published(company, first)
    company.git("push", "-q", "origin", "HEAD:main")
    (only,) = found(company)
    assert (only.rule, only.place.path) == ("lost-run", BOOK)
    assert "r1" in only.message


def test_a_reused_number_is_found(company: Company) -> None:
    first = company.git("rev-parse", "HEAD:overlays/ledger")
    text = (company.root / BOOK).read_text("utf-8")
    line = next(row for row in text.splitlines() if row.strip().startswith("training:"))
    company.write(BOOK, text.replace(line, line.partition(":")[0] + ': "another"'))
    published(company, first)
    company.git("push", "-q", "origin", "HEAD:main")
    (only,) = found(company)
    assert (only.rule, only.place.path) == ("reused-run-number", BOOK)
    assert "r1 was used twice" in only.message


def test_a_joined_ledger_has_lost_nothing(company: Company) -> None:
    company.git("mv", "jobs/nlp/a.yaml", "jobs/nlp/b.yaml")
    company.write("jobs/nlp/b.yaml", job(was="a"))
    company.merge()
    company.publish()
    assert rules(company) == []


def test_a_clean_commit_is_looked_at_once_and_edits_are_still_seen(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert verified(company.repository) == Verified()
    calls: list[str] = []
    real = subprocess.run

    def counting(words: list[str], *rest: object, **more: object) -> object:
        calls.append(words[0])
        return real(words, *rest, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "run", counting)
    assert verified(company.repository) == Verified()
    assert calls == ["git"]
    spoil(company, RUN)
    assert rules(company) == [("edited-overlay", RUN)]
    company.git("checkout", "--", RUN)
    company.write("jobs/nlp/b.yaml", job())
    company.commit()
    calls.clear()
    assert verified(company.repository) == Verified()
    assert len(calls) > 1


def test_check_reports_it_in_git_and_says_once_that_it_cannot_elsewhere(
    company: Company, capsys: pytest.CaptureFixture[str]
) -> None:
    def check() -> tuple[int, str, str]:
        status = main(["--repo", str(company.root), "check"])
        caught = capsys.readouterr()
        return status, caught.out, caught.err

    assert check() == (0, check()[1], "")
    spoil(company, RUN)
    status, out, err = check()
    assert (status, err) == (1, "")
    assert "edited-overlay" in out
    assert "git checkout" in out
    (company.root / ".git").rename(company.folder / "git")
    status, out, err = check()
    assert status == 0
    assert err == ("notice: the history of overlays/ is not checked: this is no git repository\n")


def test_a_shallow_clone_is_told_and_not_judged(company: Company) -> None:
    shallow = company.folder / "shallow"
    remote = f"file://{company.folder / 'remote.git'}"
    subprocess.run(["git", "clone", "-q", "--depth", "1", remote, str(shallow)], check=True)
    told = verified(Repository(shallow))
    assert told.findings == []
    assert "shallow clone" in told.skipped


def test_without_git_nothing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*words: object, **more: object) -> None:
        raise FileNotFoundError("git")

    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(verification.subprocess, "run", missing)
    assert verified(Repository(tmp_path)) == Verified(skipped="there is no git here")


def test_a_repository_below_the_top_of_git_is_checked_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    inner = tmp_path / "top" / "jobs repository"
    (inner / "overlays" / "west").mkdir(parents=True)
    (inner / "pyproject.toml").write_text("[tool.compiler]\n")
    (inner / "overlays" / "west" / "é x.yaml").write_text("a: 1\n")
    subprocess.run(["git", "init", "-q", str(tmp_path / "top")], check=True)
    told = verified(Repository(inner))
    assert [(f.rule, f.place.path) for f in told.findings] == [
        ("edited-overlay", "overlays/west/é x.yaml")
    ]
