"""Files that are mounted and that no commit holds: check and publish agree about them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from company import Company, job, rows, without_proof

from compiler.check import check_again
from compiler.cli import main
from compiler.runs import verification


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Company:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    without_proof(monkeypatch)
    return Company(tmp_path)


def told(company: Company) -> list[tuple[str, str, int | None]]:
    found = check_again(company.repository, company.now).findings
    return [(item.rule, item.place.path, item.place.line) for item in found]


def mounting(*files: str) -> str:
    """A job that mounts files; the last line names them."""
    named = ", ".join(f"/etc/f{at}: {path}" for at, path in enumerate(files))
    return job(files=f"{{{named}}}")


LINE = len(mounting("x").splitlines())
HERE = ("untracked-file", "jobs/nlp/a.yaml", LINE)


@pytest.mark.parametrize(
    "path", [".git/config", "./.git/config", ".GIT/config", "link", "away/config"]
)
def test_what_is_gits_own_is_refused_and_never_printed(
    company: Company, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (company.root / "link").symlink_to(".git/config")
    (company.root / "away").symlink_to(".git")
    (company.root / ".git/config").open("a").write("# token-in-git\n")
    company.write("jobs/nlp/a.yaml", mounting(path))
    assert told(company) == [HERE]
    assert main(["--repo", str(company.root), "render", "a"]) == 1
    assert "token-in-git" not in "".join(capsys.readouterr())
    (row,) = rows(company.plan())
    assert (row["action"], "STO704 untracked-file" in row["reason"]) == ("blocked", True)


def test_a_file_is_refused_until_git_tracks_it(company: Company) -> None:
    company.write(".gitignore", ".cache/\n*.token\n")
    company.write("conf/ci.token", "secret\n")
    company.write("conf/new.yaml", "a: 1\n")
    company.write("conf/old.yaml", "a: 1\n")
    company.git("add", "conf/old.yaml")
    company.write("jobs/nlp/a.yaml", mounting("conf/ci.token", "conf/new.yaml", "conf/old.yaml"))
    assert told(company) == [HERE, HERE]
    company.git("add", "conf/new.yaml")
    # Nothing but the index has changed, and the outcomes are remembered.
    assert told(company) == [HERE]
    company.merge()
    assert company.publish().blocked
    company.git("add", "-f", "conf/ci.token")
    assert told(company) == []
    company.merge()
    assert not company.publish().blocked


def test_a_repository_without_git_knows_nothing_of_tracking(tmp_path: Path) -> None:
    company = Company(tmp_path)
    (company.root / ".git").rename(tmp_path / "elsewhere")
    company.write("conf/new.yaml", "a: 1\n")
    company.write("jobs/nlp/a.yaml", mounting("conf/new.yaml"))
    assert told(company) == []


def test_git_is_asked_once_for_all_files_and_never_without_one(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    real = subprocess.run

    def run(words: list[str], **options: object) -> object:
        asked.append([word for word in words if word == "ls-files"])
        return real(words, **options)  # type: ignore[call-overload]

    company.write("jobs/nlp/a.yaml", job())
    company.write("conf/a.yaml", "a: 1\n")
    monkeypatch.setattr(verification.subprocess, "run", run)
    told(company)
    assert sum(map(len, asked)) == 0
    for name in ("a", "b", "c"):
        company.write(f"jobs/nlp/{name}.yaml", mounting("conf/a.yaml"))
    told(company)
    assert sum(map(len, asked)) == 1
