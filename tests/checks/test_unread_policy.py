"""What stands where policy is looked for, and is not read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from declarations import checked, job, repository

from compiler.causes import rooted
from compiler.check import check_again
from compiler.repository import Repository

Change = Callable[[Path], object]


def link(path: Path) -> None:
    path.symlink_to("nothing")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def file(path: Path) -> None:
    path.write_text("a: 1\n")


def replaced(change: Change) -> Change:
    def both(path: Path) -> None:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        change(path)

    return both


def ending(path: Path) -> None:
    path.rename(path.with_suffix(".yml"))


LINK, PLAIN = "is a link to nothing", "is no plain file"
CASES = [
    ("policy/clusters/x.yaml", link, "", LINK, "put the file itself here"),
    ("policy/clusters/x.yml", pipe, "", PLAIN, "put the file itself here"),
    ("policy/teams/x.yaml", folder, "", PLAIN, "put the file itself here"),
    ("policy/waivers/x.yaml", link, "", LINK, "put the file itself here"),
    ("policy/stops/x.yaml", pipe, "", PLAIN, "put the file itself here"),
    ("policy/stops", link, "", LINK, "a folder is wanted here"),
    ("policy/waivers", replaced(file), "", "is a file", "a folder is wanted here"),
    ("policy/rules.yaml", replaced(link), "", LINK, "put the file itself here"),
    ("policy/rules.yaml", replaced(folder), "", PLAIN, "put the file itself here"),
    ("policy/clusters/x.YAML", file, "", "is not read", "call it x.yaml"),
    ("images/lock.yaml", replaced(link), "", LINK, "put the file itself here"),
    ("images/lock.yaml", replaced(pipe), "", PLAIN, "put the file itself here"),
    ("images/lock.yaml", ending, "images/lock.yml", "is not read", "call it lock.yaml"),
    ("images/x.yml", file, "", "is not read", "move it to images/x/image.yaml"),
    ("images/x", link, "", LINK, "put the folder itself here"),
    ("images/llm-sft/image.yaml", replaced(link), "", LINK, "put the file itself here"),
    ("images/llm-sft/image.yaml", ending, "images/llm-sft/image.yml", "is not read", "image.yaml"),
]


@pytest.mark.parametrize(("path", "change", "at", "message", "remedy"), CASES)
def test_what_is_not_read_is_one_finding(
    tmp_path: Path, path: str, change: Change, at: str, message: str, remedy: str
) -> None:
    root = repository(tmp_path, {"jobs/example.yaml": job()})
    for name in ("stops", "waivers"):
        if path != f"policy/{name}":
            (root / "policy" / name).mkdir(exist_ok=True)
    change(root / path)
    (item,) = rooted(checked(root))
    assert (item.rule, item.place.path) == ("unread-policy-file", at or path)
    assert message in item.message
    assert remedy in item.help


def test_what_comes_to_stand_there_is_noticed_after_a_clean_check(tmp_path: Path) -> None:
    root = repository(tmp_path, {"jobs/example.yaml": job()})
    assert check_again(Repository(root)).findings == []
    link(root / "policy/clusters/x.yaml")
    (item,) = check_again(Repository(root)).findings
    assert item.rule == "unread-policy-file"


def test_files_beside_an_image_are_its_own(tmp_path: Path) -> None:
    files = {"images/llm-sft/training.yaml": "a: 1\n", "images/llm-sft/Dockerfile": "FROM x\n"}
    assert checked(repository(tmp_path, {"jobs/example.yaml": job(), **files})) == []
