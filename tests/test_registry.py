"""The set of rules: pages, codes, sources, and both examples of every page, run for real."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from compiler import docgen
from compiler.authorship import spending
from compiler.check import check
from compiler.diagnostics import Finding
from compiler.project import Project
from compiler.repository import Repository
from compiler.rules import Registered, registered

ROOT = Path(__file__).parent.parent
PARTS = ("jobs", "policy", "images", "base", "configs")
SECTIONS = ["What it does", "Why it is bad", "Example", "Use instead", "References"]
RULES = sorted(registered().values(), key=lambda rule: rule.rule.code)
SOURCE = re.compile(
    r"[\w.-]+/[\w.-]+#[0-9]+"  # a public report
    r"|CVE-[0-9]{4}-[0-9]+|CWE-[0-9]+|RFC [0-9]+([:,] .+)?|YAML 1\.[12](\.[0-9])?(: .+)?"
    r"|[a-z][\w./-]+: \S.*"  # a module or tool, and the place in it
    r"|[\w.-]+/[\w.-]+@v[\w.]+ \S+"  # a file of a repository at a version
)

each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)


def sections(page: str) -> dict[str, str]:
    """The sections of a page by their headings."""
    parts = re.split(r"^## (.+)\n", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def fences(section: str) -> list[tuple[str, str]]:
    """The fenced blocks of a section: language and content."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)


@each_rule
def test_page_has_every_section_and_both_examples(rule: Registered) -> None:
    title, _, body = rule.page.strip().partition("\n")
    assert title.endswith(".")
    assert len(title) < 100
    found = sections(body)
    assert list(found) == SECTIONS
    assert all(content.strip() for content in found.values())
    assert fences(found["Example"])
    assert fences(found["Use instead"])
    assert re.findall(r"^- \S", found["References"], flags=re.MULTILINE)


@each_rule
def test_name_and_code_follow_the_scheme(rule: Registered) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert rule.name.split("-")[0] not in ("no", "check", "must", "disallow")
    assert re.fullmatch(r"[A-Z]{3}[1-9][0-9]{2}", rule.rule.code)
    assert rule.rule.code[:3] in docgen.FAMILIES


@each_rule
def test_rule_has_a_check_unless_it_is_of_the_source_stage(rule: Registered) -> None:
    assert (rule.check is None) == (rule.rule.stage == "source")


@each_rule
def test_rule_names_the_reports_or_source_lines_it_answers(rule: Registered) -> None:
    assert rule.rule.sources
    for source in rule.rule.sources:
        assert SOURCE.fullmatch(source), source


def test_every_name_that_is_reported_has_a_rule() -> None:
    names: set[str] = set()
    for path in (ROOT / "compiler").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            called = node.func.id if isinstance(node.func, ast.Name) else called
            # The first argument of these is the name of a rule.
            first = node.args[0] if node.args and called in ("finding", "fault", "report") else None
            named = [word.value for word in node.keywords if word.arg == "rule"]
            for value in (first, *named):
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    names.add(value.value)
    assert len(names) > 20
    assert names <= set(registered()), names - set(registered())


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example repository."""
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "repository"
    root.mkdir()
    shutil.copy(ROOT / "pyproject.toml", root)
    for part in PARTS:
        shutil.copytree(ROOT / part, root / part, symlinks=True)
    return root


def put(root: Path, section: str) -> None:
    """Carry out an example: declarations, bytes, or commands at the root of the repository.

    A block of YAML is jobs/example.yaml unless its first line is a comment with another path.
    """
    for language, content in fences(section):
        if language == "sh":
            environment = {**os.environ, "LC_ALL": "C"}
            command = ["sh", "-eu", "-c", content]
            subprocess.run(command, cwd=root, check=True, env=environment)
            continue
        name = re.match(r"# ((?:jobs|policy|images|base|configs)/\S+)\n", content)
        path = root / (name[1] if name else "jobs/example.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        if language == "python":
            target, value = content.split("=", 1)
            assert target.strip() in ("example", "instead")
            # Bytes that no page could show as they are.
            path.write_bytes(eval(value.strip(), {"__builtins__": {}}))
        else:
            assert language == "yaml"
            path.write_text(content, "utf-8")


def findings(root: Path, section: str = "") -> list[Finding]:
    """What `check` finds, with the actor and the path that an example names."""
    asked = re.search(
        r"^# check --actor (\S+)(?: --base (\S+))?(?: ([^-\s]\S*))?$", section, flags=re.MULTILINE
    )
    paths = [root / asked[3]] if asked and asked[3] else None
    checked = check(Project(Repository(root)), paths, processes=1)
    more = spending(Repository(root), checked.jobs, asked[1], asked[2]) if asked else []
    return [*checked.findings, *more]


@each_rule
def test_example_reports_just_this_rule_at_a_line_that_exists(
    rule: Registered, repository: Path
) -> None:
    section = sections(rule.page)["Example"]
    put(repository, section)
    found = findings(repository, section)
    assert {finding.rule for finding in found} == {rule.name}, found
    for finding in found:
        assert finding.code == rule.rule.code
        assert finding.message
        assert "\n" not in finding.message
        place = finding.place
        assert (repository / place.path).exists()
        if place.line is not None:
            lines = (repository / place.path).read_bytes().splitlines()
            assert 1 <= place.line <= len(lines) + 1
            assert place.column is not None
            assert place.column >= 1
            assert (place.line, place.column) <= (place.end_line, place.end_column)


@each_rule
def test_use_instead_reports_nothing(rule: Registered, repository: Path) -> None:
    section = sections(rule.page)["Use instead"]
    put(repository, section)
    assert findings(repository, section) == []


def test_pages_are_fresh() -> None:
    written = {
        path.relative_to(docgen.DOCS).as_posix(): path.read_text("utf-8")
        for path in (*docgen.DOCS.glob("rules/*.md"), docgen.DOCS / "fields.md")
    }
    assert written == docgen.pages()


def test_links_of_pages_lead_to_the_public_reports() -> None:
    text = docgen.linked("- a/b.c#12 (why)\n- CVE-2021-42574\n- x.py: f(a#1)")
    assert "[a/b.c#12](https://github.com/a/b.c/issues/12) (why)" in text
    assert "(https://www.cve.org/CVERecord?id=CVE-2021-42574)" in text
    assert text.endswith("- x.py: f(a#1)")


def test_reference_names_every_field_of_every_model() -> None:
    from compiler.schemas import MODELS, schemas

    text = docgen.reference()
    # What people write; the other schemas are of what the compiler prints and writes.
    for name, schema in schemas().items():
        if name not in MODELS:
            continue
        for block in (schema, *schema.get("$defs", {}).values()):
            for key in block.get("properties", {}):
                assert f"| `{key}`" in text


@pytest.fixture(scope="module")
def other_tests() -> list[str]:
    """The texts of all tests and cases but this one."""
    files = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "tests").rglob("*.md")]
    return [path.read_text("utf-8") for path in files if path != Path(__file__)]


@each_rule
def test_rule_has_a_case_of_its_own_beside_its_page(
    rule: Registered, other_tests: list[str]
) -> None:
    named = re.compile(rf"\b({rule.name}|{rule.name.replace('-', '_')})\b")
    assert any(named.search(text) for text in other_tests)
