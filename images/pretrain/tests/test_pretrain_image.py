"""The image of pretrain: what its Dockerfile would build. No image is built here."""

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

IMAGES = Path(__file__).resolve().parents[2]
IMAGE = IMAGES / "pretrain"

if find_spec("torch") is None:
    pytest.skip("the environment of the images has what this needs", allow_module_level=True)

import yaml  # noqa: E402
from dockerfile_parse import DockerfileParser  # noqa: E402
from packaging.requirements import Requirement  # noqa: E402
from packaging.utils import canonicalize_name  # noqa: E402


def steps() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile and their values."""
    found = DockerfileParser(fileobj=io.BytesIO((IMAGE / "Dockerfile").read_bytes())).structure
    return [(one["instruction"], one["value"]) for one in found if one["instruction"] != "COMMENT"]


def values(instruction: str) -> list[str]:
    return [value for name, value in steps() if name == instruction]


def about() -> dict[str, object]:
    return yaml.safe_load((IMAGE / "image.yaml").read_text())


def locked() -> dict[str, list[Requirement]]:
    """What the lock installs, by name; each with hashes, and from nowhere in particular."""
    found: dict[str, list[Requirement]] = {}
    text = (IMAGE / "requirements.lock").read_text().replace("\\\n", " ")
    assert "--index-url" not in text
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


def test_two_stages_of_a_pinned_base_and_nobody_is_root() -> None:
    assert re.fullmatch(r"BASE=python:3\.12\.\d+-slim-trixie", values("ARG")[0])
    assert values("FROM") == ["${BASE} AS packages", "${BASE}"]
    assert not values("ADD")
    install, compiler = values("RUN")
    assert {"--require-hashes", "--no-deps", "--only-binary"} <= set(install.split())
    # Triton's only need; nothing that the first stage has made is changed.
    assert re.findall(r"install .*?&&", compiler) == [
        "install --yes --no-install-recommends gcc libc6-dev  &&"
    ]
    user, _, group = values("USER")[-1].partition(":")
    assert int(user) > 0
    assert int(group) > 0


def test_all_that_the_programs_import_is_in_the_image() -> None:
    copied = [value.split() for value in values("COPY") if "--from" not in value]
    assert ["runtime/src", "/opt/runwright"] in copied
    assert ["pretrain/pretraining", "/app/pretraining"] in copied
    (programs,) = (found for *found, to in copied if to == "/app/")
    paths = [IMAGES / name for name in programs] + sorted(IMAGE.glob("pretraining/*.py"))
    imported: set[str] = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                imported.add(str(node.module).partition(".")[0])
            elif isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
    own = {"pretraining", "runwright_runtime", *(Path(name).stem for name in programs)}
    distributions = {"yaml": "pyyaml"}
    wanted = {distributions.get(one, one) for one in imported - own - sys.stdlib_module_names}
    project = tomllib.loads((IMAGE / "pyproject.toml").read_text())["project"]
    assert wanted == {Requirement(text).name for text in project["dependencies"]}


def test_the_image_is_what_its_declaration_says() -> None:
    assert values("WORKDIR") == [about()["workdir"]]
    assert json.loads(values("CMD")[0]) == about()["entry"]
    assert about()["guard"] == "native"
    assert [str(one.specifier) for one in locked()["torch"]] == [f"=={about()['torch']}"]


def test_the_lock_has_all_that_is_needed() -> None:
    project = tomllib.loads((IMAGE / "pyproject.toml").read_text())["project"]
    node = {"sys_platform": "linux", "platform_system": "Linux", "python_version": "3.12"}
    node |= {"platform_machine": "x86_64", "extra": "", "python_full_version": "3.12.12"}
    wanted = [Requirement(text) for text in [*project["dependencies"], *(requires("torch") or [])]]
    wanted = [one for one in wanted if one.marker is None or one.marker.evaluate(node)]
    # With its compiler of kernels: the default is to compile on accelerators.
    assert "triton" in {one.name for one in wanted}
    pins = locked()
    for one in wanted:
        found = [
            pin
            for pin in pins[canonicalize_name(one.name)]
            if pin.marker is None or pin.marker.evaluate(node)
        ]
        assert len(found) == 1, one
        assert one.specifier.contains(str(found[0].specifier).removeprefix("==")), one
