"""Thirty mistakes and what is said about them, word for word."""

import shutil
from pathlib import Path

import pytest

from compiler.check import check
from compiler.printing import reader
from compiler.project import Project
from compiler.report import CheckReport, render
from compiler.repository import Repository

ROOT = Path(__file__).resolve().parent.parent
CASES = sorted((ROOT / "tests" / "messages").glob("*.md"))
CASES = [case for case in CASES if case.name != "README.md"]


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example repository, without its jobs."""
    root = tmp_path_factory.mktemp("messages") / "repository"
    for folder in ("policy", "images", "base"):
        # Without jobs, nothing needs the waivers.
        ignored = shutil.ignore_patterns("waivers")
        shutil.copytree(ROOT / folder, root / folder, ignore=ignored)
    (root / "jobs").mkdir()
    (root / "pyproject.toml").write_text("[tool.compiler]\nexample = true\n", "utf-8")
    return root


def printed(root: Path, files: dict[str, str]) -> str:
    """What `check` prints about these files, without the closing tally."""
    kept = {name: (root / name).read_bytes() for name in files if (root / name).exists()}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    try:
        repository = Repository(root)
        project = Project(repository)
        checked = check(project, processes=1)
        report = CheckReport(
            checked.findings, checked.files, len(checked.jobs), reader(repository), root
        )
        return render("text", report)
    finally:
        for name in files:
            (root / name).unlink()
        for name, data in kept.items():
            (root / name).write_bytes(data)


def blocks(text: str) -> list[tuple[str, str]]:
    """The fenced blocks of a case: (language, content)."""
    found: list[tuple[str, str]] = []
    language, lines = None, []
    for line in text.splitlines():
        if line.startswith("````"):
            if language is None:
                language, lines = line.strip("`").strip(), []
            else:
                found.append((language, "\n".join(lines) + "\n"))
                language = None
        elif language is not None:
            lines.append(line)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_message_is_as_reviewed(case: Path, example: Path, update_golden: bool) -> None:
    text = case.read_text("utf-8")
    parts = blocks(text)
    files: dict[str, str] = {}
    for language, content in parts:
        if language == "yaml":
            first, _, rest = content.partition("\n")
            files[first.removeprefix("# file:").strip()] = rest
    actual = printed(example, files)
    assert "error" in actual or "warning" in actual or "notice" in actual
    if update_golden:
        head = text.partition("````text\n")[0]
        case.write_text(f"{head}````text\n{actual}````\n", "utf-8")
        return
    expected = next(content for language, content in parts if language == "text")
    assert expected == actual


def test_there_are_thirty() -> None:
    assert len(CASES) >= 30
