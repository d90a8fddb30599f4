"""A declaration, judged within a copy of the example repository."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import yaml

from compiler.diagnostics import Finding
from compiler.project import JobResult, Project
from compiler.repository import Repository

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("policy", "images", "base", "configs")


def copy(root: Path) -> Path:
    """The example repository without its jobs, in the folder `root`; made once."""
    if not (root / "pyproject.toml").exists():
        root.mkdir(parents=True, exist_ok=True)
        (root / "pyproject.toml").write_text("[tool.compiler]\n")
        for part in PARTS:
            shutil.copytree(ROOT / part, root / part, symlinks=True)
        (root / "jobs").mkdir()
    return root


def edit(root: Path, path: str, changes: dict[str, object]) -> None:
    """Set fields of a YAML file; a key with dots leads into it, None takes the field out."""
    file = root / path
    content = yaml.safe_load(file.read_text("utf-8"))
    for route, value in changes.items():
        *steps, last = route.split(".")
        inner = content
        for step in steps:
            inner = inner.setdefault(step, {})
        if value is None:
            inner.pop(last, None)
        else:
            inner[last] = value
    file.write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")


def judge(root: Path, text: str, job: str = "example", **policy: dict[str, object]) -> JobResult:
    """What becomes of a declaration; each keyword edits a policy file.

    `cluster_west={...}` changes policy/clusters/west.yaml, `team_nlp` policy/teams/nlp.yaml,
    `rules` policy/rules.yaml and `image_pretrain` images/pretrain/image.yaml.
    """
    copy(root)
    for name, changes in policy.items():
        kind, _, rest = name.partition("_")
        path = {
            "cluster": f"policy/clusters/{rest}.yaml",
            "team": f"policy/teams/{rest}.yaml",
            "rules": "policy/rules.yaml",
            "image": f"images/{rest.replace('_', '-')}/image.yaml",
        }[kind]
        edit(root, path, changes)
    file = root / "jobs" / f"{job}.yaml"
    file.write_text(text, "utf-8")
    return Project(Repository.find(root, explicit=True)).judge(file)


def findings(root: Path, text: str, **policy: dict[str, object]) -> list[Finding]:
    """What is wrong with a declaration."""
    return judge(root, text, **policy).findings


def places(found: Iterable[Finding]) -> list[tuple[str, int | None, int | None]]:
    """Rule, line and column of each finding, in the order of the lines."""
    return sorted(
        ((f.rule, f.place.line, f.place.column) for f in found),
        key=lambda place: (place[1] or 0, place[2] or 0, place[0]),
    )
