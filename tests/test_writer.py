"""A tree is written as a whole or not at all, and nothing that is somebody else's is lost."""

import errno
import os
import random
from contextlib import suppress
from pathlib import Path

import pytest

from compiler import disk
from compiler.diagnostics import CompilerError
from compiler.disk import Disk
from compiler.writer import MARKER, write

OLD = {"overlays/a/run.yaml": b"old a\n", "overlays/b/run.yaml": b"b\n", "gone.yaml": b"x\n"}
NEW = {"overlays/a/run.yaml": b"new a\n", "overlays/b/run.yaml": b"b\n", "c/d/run.yaml": b"c\n"}


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != MARKER
    }


# All changes within one folder: a file is new, one is other, one is gone.
OLD_TEAM = {"west/nlp/team.yaml": b"1\n", "west/nlp/a/run.yaml": b"a\n", "east/run.yaml": b"e\n"}
NEW_TEAM = {"west/nlp/team.yaml": b"2\n", "west/nlp/b/run.yaml": b"b\n", "east/run.yaml": b"e\n"}
CHANGES = [({}, NEW), (OLD, NEW), (OLD_TEAM, NEW_TEAM)]


def beside(folder):
    """What is in the parent of the folder: nothing but itself, where nothing was left behind."""
    return [path.name for path in folder.parent.iterdir()]


@pytest.fixture
def place(tmp_path):
    (tmp_path / "repository/overlays").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    return tmp_path / "here" / "build", tmp_path / "repository"


class Killed(BaseException):
    """The process is gone: nothing after it runs, so no operation after it may succeed."""


class Faulty(Disk):
    """Fails at the n-th operation: with an error of the disk, or as if the process were killed."""

    def __init__(self, at, error=None):
        self.at, self.error, self.count = at, error, 0

    def step(self, operation, *arguments):
        self.count += 1
        if self.error is None and self.count >= self.at:
            raise Killed
        if self.count == self.at:
            raise self.error
        return operation(*arguments)

    def make_folder(self, path):
        return self.step(super().make_folder, path)

    def write(self, path, data):
        if self.count + 1 == self.at:  # a file that is there in part
            path.write_bytes(data[: len(data) // 2])
        return self.step(super().write, path, data)

    def link(self, source, path):
        return self.step(super().link, source, path)

    def exchange(self, one, other):
        return self.step(super().exchange, one, other)

    def rename(self, source, path):
        return self.step(super().rename, source, path)

    def remove(self, path):
        return self.step(super().remove, path)


class Stepwise(Faulty):
    """A system that cannot exchange two folders: two moves, each of which may fail."""

    def exchange(self, new, old):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(disk, "_exchange", lambda new, old: False)
            Disk.exchange(self, new, old)


def steps(place, before, after):
    """How many operations a write takes."""
    folder, root = place
    if before:
        write(folder, before, root)
    disk = Faulty(10**9)
    write(folder, after, root, disk)
    return disk.count


def test_writes_what_it_was_given(place):
    folder, root = place
    write(folder, NEW, root)
    assert contents(folder) == NEW
    assert beside(folder) == ["build"]


def test_replaces_its_own_files_and_removes_those_that_are_gone(place):
    folder, root = place
    write(folder, OLD, root)
    assert write(folder, NEW, root) == (2, {"gone.yaml"})
    assert contents(folder) == NEW
    assert beside(folder) == ["build"]


def test_an_unchanged_file_is_not_written_again(place):
    folder, root = place
    write(folder, OLD, root)
    before = (folder / "overlays/b/run.yaml").stat()
    write(folder, NEW, root)
    after = (folder / "overlays/b/run.yaml").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_file_that_somebody_changed_is_written_again_also_at_equal_length(place):
    folder, root = place
    write(folder, NEW, root)
    (folder / "overlays/b/run.yaml").write_bytes(b"B\n")
    (folder / "c/d/run.yaml").unlink()
    write(folder, NEW, root)
    assert contents(folder) == NEW


def test_files_of_other_people_stay(place):
    folder, root = place
    write(folder, OLD, root)
    (folder / "overlays/a/notes.txt").write_text("mine")
    (folder / "mine").mkdir()
    (folder / "mine/link").symlink_to("../nowhere")
    write(folder, NEW, root)
    assert (folder / "overlays/a/notes.txt").read_text() == "mine"
    assert (folder / "mine/link").readlink() == Path("../nowhere")
    write(folder, {"z": b""}, root)
    assert (folder / "overlays/a/notes.txt").read_text() == "mine"
    assert not (folder / "overlays/b").exists()


@pytest.mark.parametrize("name", ["c/d/run.yaml", "c", "c/d/run.yaml/more"])
def test_a_file_of_somebody_else_is_never_written_over(place, name):
    folder, root = place
    write(folder, OLD, root)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("mine")
    with pytest.raises(CompilerError, match="in the way"):
        write(folder, NEW, root)
    assert contents(folder) == OLD | {name: b"mine"}
    assert beside(folder) == ["build"]


def test_a_folder_that_it_did_not_write_is_refused(place):
    folder, root = place
    folder.mkdir()
    (folder / "precious").write_text("x")
    with pytest.raises(CompilerError, match="precious, and was not written by a build"):
        write(folder, NEW, root)
    assert contents(folder) == {"precious": b"x"}


@pytest.mark.parametrize("marker", [b"", b"[]", b"{}", b'{"files": 3}', b"\xff"])
def test_a_broken_marker_is_none(place, marker):
    folder, root = place
    folder.mkdir()
    (folder / MARKER).write_bytes(marker)
    with pytest.raises(CompilerError, match="was not written by a build"):
        write(folder, NEW, root)


def test_an_empty_folder_is_taken(place):
    folder, root = place
    folder.mkdir()
    write(folder, NEW, root)
    assert contents(folder) == NEW


@pytest.mark.parametrize("name", ["overlays", "overlays/west", "", ".."])
def test_the_overlays_and_the_repository_are_never_written(place, name):
    _, root = place
    with pytest.raises(CompilerError, match=r"publish alone|holds the repository itself"):
        write(root / name, NEW, root)


def test_a_link_to_the_overlays_is_no_way_around(place):
    folder, root = place
    folder.symlink_to(root / "overlays")
    with pytest.raises(CompilerError, match="publish alone"):
        write(folder, NEW, root)


def test_a_link_to_a_folder_stays_a_link(place):
    folder, root = place
    folder.symlink_to("other")
    (folder.parent / "other").mkdir()
    write(folder, OLD, root)
    write(folder, NEW, root)
    assert folder.is_symlink()
    assert contents(folder.parent / "other") == NEW


def test_a_file_is_no_folder(place):
    folder, root = place
    folder.write_text("x")
    with pytest.raises(CompilerError, match="is a file"):
        write(folder, NEW, root)


@pytest.mark.parametrize("kind", [Faulty, Stepwise])
@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_a_crash_at_any_operation_leaves_the_old_tree_or_the_new_one(place, before, after, kind):
    folder, root = place
    total = steps(place, before, after) + 3
    for at in range(1, total + 1):
        for path in list(folder.parent.iterdir()):
            Disk().remove(path)
        if before:
            write(folder, before, root)
        with suppress(Killed):
            write(folder, after, root, kind(at))
        if kind is Faulty:
            assert contents(folder) in (before, after)
        write(folder, {**after, "e": b"e"}, root)
        assert contents(folder) == {**after, "e": b"e"}
        assert beside(folder) == ["build"]


def test_where_folders_cannot_be_exchanged_the_next_build_brings_the_old_tree_back(place):
    folder, root = place
    write(folder, OLD, root)
    (folder / "mine").write_text("mine")
    for at in range(1, 20):
        disk = Stepwise(at)
        try:
            write(folder, NEW, root, disk)
        except Killed:
            if not folder.exists():
                break
    assert not folder.exists()
    write(folder, NEW, root)
    assert contents(folder) == {**NEW, "mine": b"mine"}


@pytest.mark.parametrize("kind", [Faulty, Stepwise])
@pytest.mark.parametrize(("before", "after"), CHANGES)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_a_disk_that_refuses_leaves_the_old_tree_and_says_so(place, before, after, kind, number):
    folder, root = place
    total = steps(place, before, after)
    for at in range(1, total):
        for path in list(folder.parent.iterdir()):
            Disk().remove(path)
        if before:
            write(folder, before, root)
        said = None
        try:
            write(folder, after, root, kind(at, OSError(number, os.strerror(number))))
        except CompilerError as error:
            said = str(error)
        # Only the removal of the old tree may fail without a word: the new one is there by then.
        assert contents(folder) == (after if said is None else before)
        assert said is None or os.strerror(number) in said
        write(folder, after, root)
        assert contents(folder) == after
        assert beside(folder) == ["build"]


def test_a_build_at_work_is_not_cleaned_away_by_another(place):
    folder, root = place
    write(folder, {"a": b"1"}, root)

    class Meanwhile(Disk):
        def exchange(self, new, old):
            write(folder, {"a": b"3"}, root)
            assert (new / "a").read_bytes() == b"2"
            super().exchange(new, old)

    write(folder, {"a": b"2"}, root, Meanwhile())
    assert contents(folder) == {"a": b"2"}
    assert beside(folder) == ["build"]


def test_only_the_smallest_folder_around_the_changes_is_replaced(place):
    folder, root = place
    write(folder, NEW, root)
    kept = [(folder / name).stat().st_ino for name in ("overlays", "overlays/b", "c")]
    disk = Faulty(10**9)
    assert write(folder, {**NEW, "overlays/a/run.yaml": b"newer\n"}, root, disk).changed == 1
    assert [(folder / name).stat().st_ino for name in ("overlays", "overlays/b", "c")] == kept
    assert (folder / "overlays/a/run.yaml").read_bytes() == b"newer\n"
    assert write(folder, {**NEW, "overlays/a/run.yaml": b"newer\n"}, root, Faulty(1)) == (0, set())


def test_a_folder_without_files_is_gone(place):
    folder, root = place
    write(folder, OLD, root)
    rest = {name: data for name, data in OLD.items() if not name.startswith("overlays/a")}
    write(folder, rest, root)
    assert not (folder / "overlays/a").exists()
    assert contents(folder) == rest


def test_a_link_in_the_place_of_a_file_or_folder_is_not_followed(place):
    folder, root = place
    write(folder, OLD, root)
    (root / "precious").write_bytes(b"b\n")
    (folder / "overlays/b/run.yaml").unlink()
    (folder / "overlays/b/run.yaml").symlink_to(root / "precious")
    write(folder, {**OLD, "overlays/b/run.yaml": b"2\n"}, root)
    assert (root / "precious").read_bytes() == b"b\n"
    assert not (folder / "overlays/b/run.yaml").is_symlink()


def test_without_hard_links_files_are_copied(place, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EPERM, "no links here")

    folder, root = place
    write(folder, OLD, root)
    (folder / "mine").write_text("mine")
    monkeypatch.setattr(os, "link", refuse)
    write(folder, NEW, root)
    assert contents(folder) == {**NEW, "mine": b"mine"}


def test_without_an_exchange_two_moves_do(place, monkeypatch):
    monkeypatch.setattr(disk, "_exchange", lambda one, other: False)
    folder, root = place
    write(folder, OLD, root)
    write(folder, NEW, root)
    assert contents(folder) == NEW
    assert beside(folder) == ["build"]


def test_bytes_are_written_as_they_are(place):
    folder, root = place
    data = random.Random(1).randbytes(3000) + b"\r\n\x00\xff"
    write(folder, {"f": data}, root)
    assert (folder / "f").read_bytes() == data
