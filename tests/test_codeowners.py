"""CODEOWNERS: who is asked about a path, told as GitHub tells it, and kept to policy."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from compiler.check import check
from compiler.cli import main
from compiler.project import Project
from compiler.repository import Repository

ROOT = Path(__file__).parent.parent


def owners(text: str, path: str) -> list[str]:
    """Whom GitHub asks about a path: the last pattern that matches, and nobody without one."""
    found: list[str] = []
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if words and re.match(pattern(words[0]), path):
            found = words[1:]
    return found


def pattern(written: str) -> str:
    """A pattern of gitignore's kind, as far as CODEOWNERS allows it, as a regular expression."""
    anchored = "/" in written.rstrip("/")
    body = "".join("[^/]*" if c == "*" else re.escape(c) for c in written.strip("/"))
    start = "" if anchored else "(?:.*/)?"
    return f"^{start}{body}{'/' if written.endswith('/') else '(?:/|$)'}"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "repository"
    folder.mkdir()
    shutil.copy(ROOT / "pyproject.toml", folder)
    for part in ("jobs", "policy", "images", "base", "configs"):
        shutil.copytree(ROOT / part, folder / part, symlinks=True)
    return folder


def run(root: Path, *words: str) -> int:
    return main(["--repo", str(root), "codeowners", *words])


def written(root: Path, host: str = "github") -> str:
    return (root / f".{host}/CODEOWNERS").read_text("utf-8")


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("jobs/nlp/a.yaml", ["@kim-nlp", "@example-org/nlp-leads"]),
        ("jobs/nlp/files/a.yaml", ["@kim-nlp", "@example-org/nlp-leads"]),
        ("jobs/speech/a.yml", ["@lee-speech", "@example-org/speech-leads"]),
        ("jobs/llm-sft.yaml", ["@example-org/platform"]),
        ("jobs/llm-sft.yml", ["@example-org/platform"]),
        ("policy/teams/nlp.yaml", ["@example-org/platform"]),
        ("policy/rules.yaml", ["@example-org/platform"]),
        ("base/job/kustomization.yaml", ["@example-org/platform"]),
        ("images/lock.yaml", ["@example-org/platform"]),
        ("images/llm-sft/train.py", []),
        ("overlays/ledger/nlp/a.yaml", ["@example-org/platform"]),
        (".github/CODEOWNERS", ["@example-org/platform"]),
        (".github/workflows/check.yml", ["@example-org/platform"]),
        ("pyproject.toml", ["@example-org/platform"]),
        ("ci/check.sh", ["@example-org/platform"]),
        ("docs/policy/index.md", []),
        ("other/jobs/nlp/a.yaml", []),
    ],
)
def test_who_is_asked(root: Path, path: str, asked: list[str]) -> None:
    assert run(root) == 0
    assert owners(written(root), path) == asked


def test_the_file_of_this_repository_is_fresh() -> None:
    assert main(["--repo", str(ROOT), "codeowners", "--check"]) == 0


def test_jobs_and_the_order_of_owners_elsewhere_change_nothing(root: Path) -> None:
    assert run(root) == 0
    before = written(root)
    (root / "jobs/nlp").mkdir(exist_ok=True)
    shutil.copy(root / "jobs/llm-sft.yaml", root / "jobs/nlp/other.yaml")
    assert run(root, "--check") == 0
    assert written(root) == before


def test_a_team_whose_name_begins_like_anothers_keeps_its_own(root: Path) -> None:
    text = (root / "policy/teams/nlp.yaml").read_text("utf-8")
    more = text.replace("namespace: p-nlp", "namespace: p-nlp-2")
    more = re.sub(r"owners: .*", 'owners: ["@zoe"]', more)
    (root / "policy/teams/nlp-2.yaml").write_text(more, "utf-8")
    assert run(root) == 0
    assert owners(written(root), "jobs/nlp-2/a.yaml") == ["@zoe"]
    assert owners(written(root), "jobs/nlp/a.yaml") == ["@kim-nlp", "@example-org/nlp-leads"]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda text: re.sub(r"(?m)^owners: .*$", "owners: []", text), (5, 9)),
        (lambda text: re.sub(r"(?m)^owners: .*\n", "", text), (1, 1)),
        (lambda _: None, (1, 1)),
    ],
    ids=["an empty list", "no key", "no file"],
)
def test_policy_without_owners_is_an_error_and_no_file_is_written(
    root: Path,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[str], str | None],
    place: tuple[int, int],
) -> None:
    shutil.rmtree(root / "policy/waivers")
    shutil.rmtree(root / "jobs")
    assert run(root) == 0
    before = written(root)
    rules = root / "policy/rules.yaml"
    changed = change(rules.read_text("utf-8"))
    if changed is None:
        rules.unlink()
    else:
        rules.write_text(changed, "utf-8")
    (found,) = check(Project(Repository(root)), processes=1).findings
    assert found.rule == "policy-without-owners"
    assert found.place.path == "policy/rules.yaml"
    assert (found.place.line, found.place.column) == place
    assert run(root) == 2
    assert "nobody owns policy/" in capsys.readouterr().err
    assert written(root) == before


def test_a_repository_that_no_host_asks_needs_no_owners(root: Path) -> None:
    shutil.rmtree(root / "policy/waivers")
    shutil.rmtree(root / "jobs")
    rules = root / "policy/rules.yaml"
    rules.write_text(re.sub(r"(?m)^owners: .*\n", "", rules.read_text("utf-8")), "utf-8")
    assert check(Project(Repository(root)), processes=1).findings == []


def test_gitlab_has_its_own_place_and_pipeline(root: Path) -> None:
    assert run(root, "--host", "gitlab") == 0
    assert owners(written(root, "gitlab"), ".gitlab-ci.yml") == ["@example-org/platform"]
    assert not (root / ".github").exists()
    # From then on it is the file that is kept.
    assert run(root, "--check") == 0
    (root / ".gitlab/CODEOWNERS").write_text("", "utf-8")
    assert run(root, "--check") == 1
    assert run(root) == 0
    assert not (root / ".github").exists()


def test_drift_is_found_where_the_file_first_differs(root: Path) -> None:
    assert run(root) == 0
    assert check(Project(Repository(root)), processes=1).findings == []
    team = root / "policy/teams/vision.yaml"
    team.write_text(
        team.read_text("utf-8").replace("owners: [example-org/vision]", "owners: [zoe]"), "utf-8"
    )
    (found,) = check(Project(Repository(root)), processes=1).findings
    line = written(root).splitlines()[(found.place.line or 0) - 1]
    assert (found.rule, found.place.path) == ("outdated-codeowners", ".github/CODEOWNERS")
    assert line.startswith("/jobs/vision/")


@pytest.mark.parametrize("text", ["", "\xff", "# Who approves what"])
def test_drift_of_a_file_that_is_nothing_like_it_is_found(root: Path, text: str) -> None:
    (root / ".github").mkdir()
    (root / ".github/CODEOWNERS").write_bytes(text.encode("latin-1"))
    (found,) = check(Project(Repository(root)), processes=1).findings
    assert found.rule == "outdated-codeowners"
    assert found.place.line == 1


def test_a_team_that_cannot_be_read_is_not_left_out(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(root) == 0
    before = written(root)
    (root / "policy/teams/nlp.yaml").write_text("namespace: [", "utf-8")
    assert run(root) == 2
    assert "policy/teams/nlp.yaml cannot be read" in capsys.readouterr().err
    assert written(root) == before
    rules = {item.rule for item in check(Project(Repository(root)), processes=1).findings}
    assert "outdated-codeowners" not in rules
