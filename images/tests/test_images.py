"""What the Dockerfiles of the images would build. No image is built here."""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tomllib
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path

import pytest

IMAGES = Path(__file__).resolve().parents[1]
# The images, and whether kernels are compiled when they train.
NAMES = {"ddp-mini": False, "llm-sft": True}
# What an image's own code may import beside the packages that its pyproject.toml names.
INSTALLED = {"runwright_runtime"}

if find_spec("torch") is None:
    pytest.skip("the environment of the images has what this needs", allow_module_level=True)

import yaml  # noqa: E402
from dockerfile_parse import DockerfileParser  # noqa: E402
from packaging.requirements import Requirement  # noqa: E402
from packaging.utils import canonicalize_name  # noqa: E402


@pytest.fixture(scope="module", params=NAMES)
def image(request: pytest.FixtureRequest) -> Path:
    return IMAGES / request.param


@pytest.fixture(scope="module")
def steps(image: Path) -> list[tuple[str, str]]:
    """The instructions of the Dockerfile and their values."""
    text = (image / "Dockerfile").read_bytes()
    found = DockerfileParser(fileobj=io.BytesIO(text)).structure
    return [(one["instruction"], one["value"]) for one in found if one["instruction"] != "COMMENT"]


@pytest.fixture(scope="module")
def about(image: Path) -> dict[str, object]:
    return yaml.safe_load((image / "image.yaml").read_text())


@pytest.fixture(scope="module")
def locked(image: Path) -> dict[str, list[Requirement]]:
    """What the lock installs, by name."""
    found: dict[str, list[Requirement]] = {}
    text = (image / "requirements.lock").read_text().replace("\\\n", " ")
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        words, *hashes = line.split("--hash=")
        assert hashes, line
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one.strip()) for one in hashes), line
        one = Requirement(words.strip())
        assert one.url is None
        assert re.fullmatch(r"==[^*,]+", str(one.specifier)), line
        found.setdefault(canonicalize_name(one.name), []).append(one)
    return found


def values(steps: list[tuple[str, str]], instruction: str) -> list[str]:
    return [value for name, value in steps if name == instruction]


def test_it_starts_from_one_pinned_base(steps: list[tuple[str, str]]) -> None:
    assert values(steps, "ARG") == ["BASE=python:3.12.12-slim-trixie"]
    assert values(steps, "FROM") == ["${BASE} AS packages", "${BASE}"]


def test_what_is_installed_is_checked_and_not_built(
    image: Path, steps: list[tuple[str, str]]
) -> None:
    run, *others = values(steps, "RUN")
    assert {"--require-hashes", "--no-deps", "--only-binary"} <= set(run.split())
    assert not values(steps, "ADD")
    # A C compiler is all that the second stage adds to what it copies, and only for kernels.
    assert len(others) == NAMES[image.name]
    assert all(
        "apt-get install --yes --no-install-recommends gcc libc6-dev" in one for one in others
    )


def test_it_does_not_run_as_root(steps: list[tuple[str, str]]) -> None:
    user, _, group = values(steps, "USER")[-1].partition(":")
    assert int(user) > 0
    assert int(group) > 0


def test_all_that_the_program_imports_is_copied(
    image: Path, steps: list[tuple[str, str]], about: dict[str, object]
) -> None:
    copied = [value.split() for value in values(steps, "COPY") if "--from" not in value]
    sources = {source for *found, _ in copied for source in found}
    assert all((IMAGES / source).exists() for source in sources)
    own = [IMAGES / source for source in sources if source.startswith(f"{image.name}/")]
    files = [path for one in own for path in (one.rglob("*.py") if one.is_dir() else [one])]
    files = [path for path in files if path.suffix == ".py"]
    named = {path.relative_to(image).parts[0].removesuffix(".py") for path in files}
    imported: set[str] = set()
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                imported.add(str(node.module).partition(".")[0])
            elif isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
    project = tomllib.loads((image / "pyproject.toml").read_text())["project"]
    packages = {Requirement(text).name.replace("-", "_") for text in project["dependencies"]}
    left = imported - INSTALLED - packages - sys.stdlib_module_names
    assert left <= named
    entries = {word.removesuffix(".py") for word in about["entry"] if word.endswith(".py")}  # type: ignore[attr-defined]
    assert entries <= named
    # Each module is there because another one, or a person, starts or imports it.
    assert named - left <= entries | {path.stem for path in files if "__main__" in path.read_text()}
    assert "PYTHONPATH=/opt/runwright" in values(steps, "ENV")[0].split()
    assert ["runtime/src", "/opt/runwright"] in copied


def test_the_image_is_what_its_declaration_says(
    steps: list[tuple[str, str]], about: dict[str, object], locked: dict[str, list[Requirement]]
) -> None:
    assert values(steps, "WORKDIR") == [about["workdir"]]
    assert json.loads(values(steps, "CMD")[0]) == about["entry"]
    assert about["guard"] == "native"
    assert [str(one.specifier) for one in locked["torch"]] == [f"=={about['torch']}"]


def test_the_lock_has_all_that_is_needed(image: Path, locked: dict[str, list[Requirement]]) -> None:
    project = tomllib.loads((image / "pyproject.toml").read_text())["project"]
    wanted = [Requirement(text) for text in project["dependencies"]]
    # What torch itself asks for, where the image runs.
    node = {"sys_platform": "linux", "platform_system": "Linux", "python_version": "3.12"}
    node |= {"platform_machine": "x86_64", "extra": ""}
    for text in requires("torch") or []:
        one = Requirement(text)
        left_out = one.name == "triton" and not NAMES[image.name]
        if not left_out and (one.marker is None or one.marker.evaluate(node)):
            wanted.append(one)
    assert len(wanted) > 8
    for one in wanted:
        found = [
            pin
            for pin in locked[canonicalize_name(one.name)]
            if pin.marker is None or pin.marker.evaluate({**node, "python_full_version": "3.12.12"})
        ]
        assert len(found) == 1, one
        assert one.specifier.contains(str(found[0].specifier).removeprefix("==")), one
