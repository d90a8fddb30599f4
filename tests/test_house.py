"""The repository's own files: locks, make targets, workflows, packaging."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from compiler import data

ROOT = Path(__file__).resolve().parents[1]
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = ["setup", "demo", "test", "lint", "golden", "docs", "tools", "e2e", "e2e-matrix", "bench"]

in_git = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")


def tracked() -> list[Path]:
    done = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=True
    )
    names = done.stdout.decode().split("\0")
    return [path for name in names if name and (path := ROOT / name).is_file()]


def requirements(lock: Path) -> dict[str, list[str]]:
    """Each package as `name==version`, with the words after it."""
    text = lock.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.split() for line in text.splitlines() if line and line[0] not in " #"]
    return {words[0]: words[1:] for words in lines}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_pins_every_package_by_hash_and_names_no_address(lock: Path) -> None:
    assert "://" not in lock.read_text(encoding="utf-8")
    packages = requirements(lock)
    assert len(packages) > 10
    for package, rest in packages.items():
        assert re.fullmatch(r"[a-z0-9-]+==[A-Za-z0-9.+]+", package)
        assert any(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", word) for word in rest), package


def test_the_locks_agree_and_hold_what_the_project_needs() -> None:
    runtime = set(requirements(ROOT / "requirements" / "runtime.lock"))
    dev = set(requirements(ROOT / "requirements" / "dev.lock"))
    assert runtime <= dev
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[<>=\[ ]", text)[0].lower() for text in project["dependencies"]}
    locked = {package.partition("==")[0] for package in runtime}
    assert {name.replace(".", "-") for name in names} <= locked


def test_every_promised_make_target_exists() -> None:
    rules = set(re.findall(r"^([a-z0-9 -]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    names = {name for rule in rules for name in rule.split()}
    assert set(TARGETS) <= names


def test_the_matrix_knows_its_sets_before_it_builds_anything() -> None:
    matrix = [sys.executable, "tools/matrix.py", "oldset"]
    done = subprocess.run(matrix, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no such set: oldset; there are supported, newest, oldest" in done.stderr


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_pins_its_actions_and_gives_no_right_to_all_jobs(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {}
    for used in re.findall(r"uses: (.*)", text):
        assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used), used
    for step in steps(workflow):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
        # What an author of a pull request can write never becomes part of a script.
        assert "${{" not in step.get("run", "")


def test_the_base_judges_the_pull_request() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/check.yml").read_text(encoding="utf-8"))
    # YAML 1.1 reads the key `on` as true.
    assert set(workflow[True]) == {"pull_request", "merge_group"}
    checkouts = {
        step["with"]["path"]: step["with"].get("ref", "")
        for step in steps(workflow)
        if "checkout" in step.get("uses", "")
    }
    assert set(checkouts) == {"base", "pr"}
    assert "base.sha" in checkouts["base"]
    assert "base_sha" in checkouts["base"]
    scripts = [step["run"] for step in steps(workflow) if "run" in step]
    assert any("base/.venv/bin/runwright --repo pr" in script for script in scripts)
    for script in scripts:
        assert not re.search(r"(?:^|\s)(?:\./)?pr/|-C pr|cd pr", script), "runs the author's code"


@in_git
def test_no_file_names_a_path_of_this_machine() -> None:
    checkout = str(ROOT).encode()
    assert [str(p.relative_to(ROOT)) for p in tracked() if checkout in p.read_bytes()] == []


@in_git
def test_text_files_have_unix_line_ends() -> None:
    done = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--eol"], capture_output=True, text=True, check=True
    )
    assert [line for line in done.stdout.splitlines() if re.match(r"i/(?:crlf|mixed)", line)] == []


def test_the_scripts_can_be_run() -> None:
    assert os.access(ROOT / ".ci/run", os.X_OK)
    for script in (".ci/run", "tools/demo.sh"):
        subprocess.run(["bash", "-n", str(ROOT / script)], check=True)


def test_the_package_and_its_schemas_go_together() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["name"] == "runwright"
    assert project["project"]["scripts"] == {"runwright": "compiler.__main__:run"}
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["sources"] == {
        "schemas": "compiler/data/schemas",
        "ci": "compiler/data/ci",
        ".github/workflows": "compiler/data/workflows",
    }
    assert data.schemas() == ROOT / "schemas"


@pytest.mark.slow
def test_a_built_wheel_holds_the_package_and_the_schemas(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    (wheel,) = tmp_path.glob("runwright-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "compiler/kustomize.py" in names
    schemas = {f"compiler/data/schemas/{p.name}" for p in (ROOT / "schemas").glob("*.json")}
    assert schemas <= names
    assert not any(name.startswith(("tests/", "tools/", "overlays/")) for name in names)
    package = {f"compiler/{p.relative_to(ROOT / 'compiler')}" for p in package_data()}
    assert package <= names


def package_data() -> list[Path]:
    return [p for p in tracked() if p.is_relative_to(ROOT / "compiler")]
