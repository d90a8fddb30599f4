"""Declarations for tests of rules: written into a copy of the example repository, and judged."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
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
    left = {"policy": () if jobs else ("waivers",), "images": ("tests", "__pycache__")}
    for folder in FOLDERS:
        if folder != "jobs" or jobs:
            ignored = shutil.ignore_patterns(*left.get(folder, ()))
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
    root = _kept(arguments)
    with _written(root, {f"jobs/{name}.yaml": text, **(files or {})}):
        return checked(root)


@cache
def _kept(arguments: bool) -> Path:
    """A copy for all tests of this process: making one takes longer than checking it."""
    memory = Path("/dev/shm")
    folder = TemporaryDirectory(dir=memory if memory.is_dir() else None, prefix="runwright-tests-")
    # Removed when the process ends.
    _FOLDERS.append(folder)
    return repository(Path(folder.name).resolve(), arguments=arguments)


_FOLDERS: list[TemporaryDirectory[str]] = []


@contextmanager
def _written(root: Path, files: Mapping[str, str]) -> Iterator[None]:
    """The files in their places; afterwards everything is as it was, and nothing is cached."""
    before: dict[Path, bytes | None] = {}
    made: list[Path] = []
    try:
        for name, text in files.items():
            path = root / name
            for above in reversed(path.relative_to(root).parents):
                if not (root / above).exists():
                    (root / above).mkdir()
                    made.append(root / above)
            before[path] = path.read_bytes() if path.exists() else None
            path.write_bytes(text.encode())
        yield
    finally:
        for path, data in before.items():
            if data is None:
                path.unlink(missing_ok=True)
            else:
                path.write_bytes(data)
        for path in reversed(made):
            path.rmdir()
        shutil.rmtree(root / ".cache", ignore_errors=True)


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
