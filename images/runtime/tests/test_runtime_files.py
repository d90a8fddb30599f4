"""Files that survive a crash at any point of their writing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from runwright_runtime import Unwritable, save

# Ends the process, as a crash does, at the n-th call that touches the disk.
CRASH = """
import os, sys
from pathlib import Path
left = int(sys.argv[2])
def counted(call):
    def wrapped(*args, **options):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return call(*args, **options)
    return wrapped
import io
from runwright_runtime import files
Path.open = counted(Path.open)
Path.replace = counted(Path.replace)
os.fsync = counted(os.fsync)
os.open = counted(os.open)
files.save(Path(sys.argv[1]), b"new" * 100000)
"""


def test_a_crash_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    seen = set()
    for step in range(20):
        path = tmp_path / "state"
        path.write_bytes(b"old")
        done = subprocess.run(
            [sys.executable, "-c", CRASH, str(path), str(step)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=False,
        )
        seen.add((done.returncode, path.read_bytes() == b"old"))
        assert path.read_bytes() in (b"old", b"new" * 100000), step
        if done.returncode == 0:
            break
    assert seen == {(9, True), (9, False), (0, False)}


def test_a_failed_write_leaves_the_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state"
    save(path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unwritable, match="No space left on device"):
        save(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_content_is_synced_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state"
    order: list[str] = []
    sync, replace = os.fsync, Path.replace

    def fsync(handle: int) -> None:
        order.append("folder" if os.path.isdir(f"/proc/self/fd/{handle}") else "file")  # noqa: PTH112
        sync(handle)

    def renamed(self: Path, target: Path) -> Path:
        order.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", renamed)
    save(path, b"new")
    assert order == ["file", "rename", "folder"]


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(Unwritable, match=r"cannot write .*nowhere/state: No such file"):
        save(tmp_path / "nowhere" / "state", b"")
