"""Declarations for tests of rules: written into a copy of the example repository, and judged."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from compiler.check import check
from compiler.diagnostics import Finding
from compiler.project import Project
from compiler.repository import Repository
from compiler.rules import registered

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("base", "configs", "images", "jobs", "policy")
TODAY = datetime(2026, 3, 1, tzinfo=UTC)

# A clean job; what a test is about is added to it, or replaces one of its lines.
CARRIER = """\
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
"""


def job(extra: str = "", **fields: str | None) -> str:
    """The carrier with fields replaced (None: left out), and with `extra` lines at its end."""
    lines: list[str] = []
    for line in CARRIER.splitlines():
        key = line.partition(":")[0]
        value = fields.pop(key, line.partition(": ")[2])
        if value is not None:
            lines.append(f"{key}: {value}")
    lines += [f"{key}: {value}" for key, value in fields.items() if value is not None]
    return "\n".join([*lines, extra.strip("\n")]).rstrip("\n") + "\n"


def repository(
    root: Path,
    files: Mapping[str, str] | None = None,
    jobs: bool = False,
    arguments: bool = False,
) -> Path:
    """A copy of the example repository with files added or replaced; its jobs only if wanted.

    Its images take any arguments and may have any script, so that a test may give whatever its
    rule is about, unless `arguments` keeps the schemas and folders that they declare.
    """
    # Without its jobs, nothing needs the waivers of the example.
    ignored = None if jobs else shutil.ignore_patterns("waivers")
    for folder in FOLDERS:
        if folder != "jobs" or jobs:
            shutil.copytree(ROOT / folder, root / folder, ignore=ignored)
    for about in root.glob("images/*/image.yaml") if not arguments else ():
        lines = about.read_text("utf-8").splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith(("args_schema:", "workdir:"))]
        about.write_text("".join(kept), "utf-8")
    (root / "jobs").mkdir(exist_ok=True)
    (root / "pyproject.toml").write_text("[tool.compiler]\nexample = true\n", "utf-8")
    for name, text in (files or {}).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return root


def checked(root: Path) -> list[Finding]:
    """Everything that `check` finds in a repository, on a day that stays the same."""
    return check(Project(Repository(root), at=TODAY), processes=1).findings


def findings(
    text: str,
    files: Mapping[str, str] | None = None,
    name: str = "example",
    arguments: bool = False,
) -> list[Finding]:
    """What is found about a job in jobs/<name>.yaml, and about the `files` beside it."""
    with TemporaryDirectory() as folder:
        written = {f"jobs/{name}.yaml": text, **(files or {})}
        root = repository(Path(folder), written, arguments=arguments)
        return checked(root)


def policy(path: str, *edits: tuple[str, str]) -> dict[str, str]:
    """A policy file of the example with texts replaced, each of which must be there once."""
    text = (ROOT / path).read_text("utf-8")
    for old, new in edits:
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {path}"
        text = text.replace(old, new)
    return {path: text}


def of(rule: str, found: list[Finding]) -> list[Finding]:
    """The findings of one rule."""
    assert rule in registered(), f"there is no rule {rule}"
    return [item for item in found if item.rule == rule]


def only(rule: str, found: list[Finding]) -> Finding:
    """The one finding there is, which must be of this rule."""
    assert [item.rule for item in found] == [rule], [f"{i.rule}: {i.message}" for i in found]
    return found[0]


def spot(item: Finding) -> str:
    """Where a finding stands: path:line:column."""
    return f"{item.place.path}:{item.place.line}:{item.place.column}"
