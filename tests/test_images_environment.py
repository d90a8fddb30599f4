"""`make images-setup`: when it makes the environment of the images, and what it says when not."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool in a folder of its own, with nothing installed."""
    spec = importlib.util.spec_from_file_location("tools_images", ROOT / "tools" / "images.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "PYTHON", tmp_path / "venv" / "python")
    monkeypatch.setattr(module, "STAMP", tmp_path / "venv" / "lock.sha256")
    monkeypatch.setattr(module, "LOCK", tmp_path / "requirements.lock")
    module.LOCK.write_text("torch==2.15.0\n")
    return module


@pytest.fixture
def ran(images: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were run; the one that makes the environment leaves a python behind."""
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> None:
        commands.append(command)
        if "venv" in command:
            images.PYTHON.parent.mkdir(exist_ok=True)
            images.PYTHON.write_text("")

    monkeypatch.setattr(images.subprocess, "run", run)
    return commands


def test_it_is_made_once_and_again_when_the_lock_changes(
    images: ModuleType, ran: list[list[str]]
) -> None:
    assert images.main() == 0
    assert ["venv" in ran[0], "sync" in ran[1], "import torch" in ran[2]] == [True] * 3
    assert "--require-hashes" in ran[1]
    assert images.main() == 0
    assert len(ran) == 3
    images.LOCK.write_text("torch==2.15.1\n")
    assert images.main() == 0
    assert len(ran) == 6


def test_it_is_not_taken_for_ready_when_an_installation_failed(
    images: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = images.fingerprint()
    images.PYTHON.parent.mkdir()
    images.PYTHON.write_text("")
    images.STAMP.write_text("of another lock")

    def fails(command: list[str], **_: object) -> None:
        if "sync" in command:
            raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(images.subprocess, "run", fails)
    with pytest.raises(subprocess.CalledProcessError):
        images.main()
    assert not images.ready(wanted)
    assert not images.STAMP.exists()


def test_a_disk_without_room_is_told_before_anything_is_installed(
    images: ModuleType,
    ran: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=3 * 10**9))
    assert images.main() == 1
    assert ran == []
    assert "takes about 12 GB" in capsys.readouterr().err


@pytest.mark.parametrize(
    "lock", sorted((ROOT / "images").rglob("requirements.lock")), ids=lambda lock: lock.parent.name
)
def test_a_lock_names_hashes_and_no_addresses(lock: Path) -> None:
    text = lock.read_text()
    pins = re.findall(r"(?m)^[a-z0-9._-]+==\S+.*\\$", text)
    assert len(pins) > 10
    assert not re.search(r"https?:|file:| @ |index-url|find-links", text)
    blocks = re.split(r"(?m)^(?=[a-z0-9._-]+==)", text)[1:]
    assert len(blocks) == len(pins)
    assert all("--hash=sha256:" in block for block in blocks)
