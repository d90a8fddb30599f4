"""Whatever stands in a cache, the outcome is that of a check without one, and it comes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from declarations import job, repository

from compiler.cachefile import load_cached, save_cached

ROOT = Path(__file__).resolve().parents[1]


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    (path / "full").mkdir(parents=True)


def circle(path: Path) -> None:
    path.symlink_to(path.name)


def nonsense(path: Path) -> None:
    path.write_bytes(b"\xff\x00[" * 50_000)


ODD: list[Callable[[Path], None]] = [pipe, folder, circle, nonsense]


def run(root: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "compiler", *words, "--repo", str(root)],
        cwd=ROOT,
        env={**os.environ, "COMPILER_CACHE": str(root / "cache")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("odd", ODD)
def test_odd_things_in_the_cache_change_no_outcome(tmp_path: Path, odd: Callable) -> None:
    root = repository(tmp_path, {"jobs/example.yaml": job(queue="reserch")})
    wanted = run(root, "check")
    assert wanted[0] == 1
    assert "unknown-queue" in wanted[1]
    files = [path for path in (root / "cache").rglob("*") if path.is_file()]
    assert [path.name for path in files].count("check.json") == 1
    for path in files:
        path.unlink()
        odd(path)
    assert run(root, "check") == wanted
    assert run(root, "check") == wanted


@pytest.mark.parametrize("odd", ODD)
def test_a_cache_that_is_no_folder_is_done_without(tmp_path: Path, odd: Callable) -> None:
    root = repository(tmp_path, {"jobs/example.yaml": job()})
    odd(root / "cache")
    assert run(root, "check")[0] == 0


@pytest.mark.parametrize("odd", ODD[:3])
def test_what_is_no_plain_file_is_not_read(tmp_path: Path, odd: Callable) -> None:
    odd(tmp_path / "file")
    with pytest.raises(OSError, match=r".*"):
        load_cached(tmp_path / "file")


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    assert save_cached(path, b"1" * 100)
    assert save_cached(path, b"2")
    assert load_cached(path) == b"2"
    assert [one.name for one in path.parent.iterdir()] == ["file"]


def test_a_pipe_is_replaced_and_a_folder_stays(tmp_path: Path) -> None:
    pipe(tmp_path / "pipe")
    folder(tmp_path / "folder")
    assert save_cached(tmp_path / "pipe", b"x")
    assert load_cached(tmp_path / "pipe") == b"x"
    assert not save_cached(tmp_path / "folder", b"x")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["folder", "pipe"]
