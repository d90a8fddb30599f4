"""The documents tell the truth: what they show is run, what they name exists.

Each document is a story, told from the top in a copy of the example repository. A fenced block
whose first line is a comment with a path is a file of the story; a `console` block whose lines
begin with `$ runwright` or `$ python -m compiler` is run, and must print what it shows. In it a
line with `...` stands for any lines. A file that is meant to be refused is marked ```yaml wrong,
and one that is right and has to wait for others ```yaml waits.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from compiler.check import check
from compiler.diagnostics import Severity
from compiler.project import Project
from compiler.repository import Repository

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# The story of docs/lifecycle.md needs git: tests/test_lifecycle.py tells it.
STORIES = [page for page in PAGES if page.name != "lifecycle.md"]
DOCUMENTS = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
_FENCE = r"^(?P<fence>`{3,})(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=fence)$"
FENCE = re.compile(_FENCE, re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# ((?:jobs|policy|images|base|configs|compiler|tests)/\S+)\n")
PROGRAMS = (["runwright"], ["python", "-m", "compiler"])
# So long is the output of a command that is shown from its beginning only.
LONGEST = 36


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Block:
    """A fenced block of a document; `start` and `end` are where its text stands in the file."""

    info: str
    text: str
    start: int
    end: int

    @property
    def file(self) -> str | None:
        """The path of the file that the block is, where it is one."""
        match = FILE.match(self.text)
        return match[1] if match else None


def blocks(text: str) -> Iterator[Block]:
    for match in FENCE.finditer(text):
        start, end = match.span("text")
        yield Block(match["info"].strip(), match["text"], start, end)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the example repository, with the compiler and the tests of rules."""
    root = tmp_path / "repository"
    root.mkdir()
    for part in ("jobs", "policy", "images", "base", "configs", "compiler", "schemas"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / part, root / part, symlinks=True, ignore=ignored)
    (root / "tests").mkdir()
    tests = ("conftest.py", "declarations.py", "test_registry.py")
    for part in ("pyproject.toml", *(f"tests/{test}" for test in tests)):
        shutil.copy(ROOT / part, root / part)
    # As with whoever follows the documents; elsewhere `check` says that it looks at no history.
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    # Jobs that are in no commit yet get room last.
    who = ("-c", "user.name=kim", "-c", "user.email=kim@example.com", "-c", "commit.gpgsign=false")
    for words in (("add", "-A"), ("commit", "-q", "-m", "Begin")):
        subprocess.run(["git", *who, *words], cwd=root, check=True)
    return root


def put(root: Path, block: Block) -> Path:
    """Write a file of a story."""
    assert block.file is not None
    path = root / block.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, "utf-8")
    return path


def said(root: Path, words: list[str]) -> str:
    """What a command prints, results first."""
    program = next(program for program in PROGRAMS if words[: len(program)] == program)
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("PYTHON")},
        "COMPILER_CACHE": str(root.parent / "cache"),
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "compiler", *words[len(program) :]],
        cwd=root,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout + done.stderr


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output that is shown."""
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)
    assert parts[0] == "", "output without a command"
    return list(zip(parts[1::2], parts[2::2], strict=True))


def ours(command: str) -> list[str] | None:
    """The words of a command that is the compiler's; None for others, such as make."""
    words = shlex.split(command, comments=True)
    return words if any(words[: len(program)] == program for program in PROGRAMS) else None


def told(shown: str, printed: str) -> bool:
    """Whether the shown output is the printed one, with `...` for any lines."""
    first, *others = re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)
    if not others:
        return first == printed
    if not printed.startswith(first):
        return False
    at = len(first)
    for part in others[:-1]:
        found = f"\n{printed}".find(f"\n{part}", at)
        if found < 0:
            return False
        at = found + len(part)
    return len(printed) - len(others[-1]) >= at and f"\n{printed}".endswith(f"\n{others[-1]}")


def shortened(shown: str, printed: str) -> str:
    """What to show of an output: as much of its beginning as before, or all of a short one."""
    lines = printed.splitlines(keepends=True)
    if re.search(r"^\.\.\.\n", shown, flags=re.MULTILINE):
        head = shown.partition("...\n")[0].count("\n")
        tail = shown.rpartition("...\n")[2].count("\n")
    elif len(lines) <= LONGEST:
        return printed
    else:
        head, tail = LONGEST - 6, 0
    if head + tail >= len(lines):
        return printed
    return "".join([*lines[:head], "...\n", *(lines[-tail:] if tail else [])])


@pytest.mark.parametrize("story", STORIES, ids=name)
def test_a_document_shows_what_is_printed(story: Path, copy: Path, update_golden: bool) -> None:
    text = story.read_text("utf-8")
    wrong: list[str] = []
    # From the end of the document on backwards, so that earlier places stay where they are.
    changes: list[tuple[Block, str]] = []
    for block in blocks(text):
        if block.file is not None:
            put(copy, block)
        elif block.info == "console":
            new = ""
            for command, shown in commands(block.text):
                words = ours(command)
                printed = shown if words is None else said(copy, words)
                if not told(shown, printed):
                    wrong.append(f"$ {command}\n{printed}")
                    shown = shortened(shown, printed)
                new += f"$ {command}\n{shown}"
            changes.append((block, new))
    if update_golden:
        for block, new in reversed(changes):
            text = text[: block.start] + new + text[block.end :]
        story.write_text(text, "utf-8")
    else:
        assert wrong == []


@pytest.mark.parametrize("story", STORIES, ids=name)
def test_a_whole_file_in_a_document_is_clean_unless_it_is_marked_wrong(
    story: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILER_CACHE", str(copy.parent / "cache"))
    for block in blocks(story.read_text("utf-8")):
        if block.file is None or not block.file.endswith(".yaml"):
            continue
        path = put(copy, block)
        found = check(Project(Repository(copy)), [path], processes=1).findings
        weights = {finding.severity for finding in found}
        messages = [finding.message for finding in found]
        if block.info == "yaml wrong":
            assert Severity.ERROR in weights, block.file
            path.unlink()
        elif block.info == "yaml waits":
            assert {finding.rule for finding in found} == {"waits-for-quota"}, block.file
            path.unlink()
        else:
            assert block.info == "yaml", block.file
            assert messages == [], block.file


def test_the_readme_shows_the_job_of_the_repository() -> None:
    """The annotated declaration is jobs/llm-sft.yaml: the same but for its comments."""
    block = next(b for b in blocks((ROOT / "README.md").read_text("utf-8")) if b.file)
    assert block.file == "jobs/llm-sft.yaml"
    comment = re.compile(r"^#.*\n|\s+#.*$", re.MULTILINE)
    real = (ROOT / block.file).read_text("utf-8")
    assert comment.sub("", block.text).split() == comment.sub("", real).split()


def test_the_rule_of_the_onboarding_page_passes_the_tests_of_rules(copy: Path) -> None:
    """Whoever follows the page ends with a rule that holds its own."""
    written = [
        put(copy, block)
        for block in blocks((ROOT / "docs" / "onboarding.md").read_text("utf-8"))
        if block.file is not None and block.file.endswith(".py")
    ]
    module, tests = written
    rule = module.stem.replace("_", "-")
    assert not (ROOT / "compiler" / "checks" / module.name).exists()
    pytest_here = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTEST_ADDOPTS": ""}
    for words in (["tests/test_registry.py", "-k", rule], [str(tests)]):
        done = subprocess.run(
            [*pytest_here, *words],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        assert re.search(r"[5-9] passed", done.stdout), done.stdout


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_a_relative_link_leads_to_something(document: Path) -> None:
    text = FENCE.sub("", document.read_text("utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = document.parent / path if path else document
        assert linked.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", linked.read_text("utf-8"), re.MULTILINE)
            slugs = [re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings]
            assert anchor in slugs, target


@pytest.mark.parametrize("document", PAGES, ids=name)
def test_a_document_names_only_verbs_that_exist(document: Path) -> None:
    from compiler.cli import find_verbs

    text = document.read_text("utf-8").partition("\n## Later\n")[0]
    named = re.findall(r"(?:runwright|python -m compiler) ([a-z][a-z-]*)", text)
    assert set(named) <= set(find_verbs()), named


def test_every_verb_is_in_the_tables() -> None:
    from compiler.cli import find_verbs

    for document in (ROOT / "README.md", ROOT / "docs" / "interfaces.md"):
        rows = [line for line in document.read_text("utf-8").splitlines() if line[:3] == "| `"]
        listed = {word for row in rows for word in re.findall(r"`([a-z-]+)", row.split("|")[1])}
        assert set(find_verbs()) <= listed, document


def test_every_page_of_the_documents_is_linked_from_the_readme() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    pages = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")]
    assert [page for page in pages if f"({page})" not in text] == []


def test_elision_stands_for_any_lines_and_nothing_else() -> None:
    assert told("a\n...\nd\n", "a\nb\nc\nd\n")
    assert told("a\n...\n", "a\n")
    assert not told("a\n...\nd\n", "a\nb\n")
    assert not told("a\n", "a\nb\n")
    assert told("a\n...\nc\n...\n", "a\nb\nc\nd\n")
    assert not told("a\n...\nc\n...\n", "a\nbc\n")
    assert not told("...\nb\n", "ab\n")
    assert not told("a\n...\na\n", "a\n")
