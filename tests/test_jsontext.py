"""What is printed as JSON is JSON, whatever bytes a file is named with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from declarations import job, repository

from compiler.jsontext import json_text

ROOT = Path(__file__).resolve().parents[1]
ODD = b"jobs/odd-\xff\xc3.yaml"


def printed(root: Path, *words: str) -> tuple[bytes, bytes]:
    done = subprocess.run(
        [sys.executable, "-m", "compiler", *words, "--repo", str(root)],
        cwd=ROOT,
        env={**os.environ, "COMPILER_CACHE": str(root / "cache")},
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.stdout, done.stderr


def texts(data: object) -> list[str]:
    if isinstance(data, dict):
        return [text for pair in data.items() for part in pair for text in texts(part)]
    if isinstance(data, list):
        return [text for part in data for text in texts(part)]
    return [data] if isinstance(data, str) else []


def make(root: Path) -> Path:
    repository(root)
    with open(os.path.join(os.fsencode(root), ODD), "wb") as file:  # noqa: PTH118, PTH123
        file.write(job(queue="reserch").encode())
    return root


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_a_name_that_is_no_utf_8_makes_json_that_every_reader_takes(
    tmp_path: Path, form: str
) -> None:
    output, _ = printed(make(tmp_path), "check", "--format", form)
    found = texts(json.loads(output.decode("utf-8")))
    assert any("odd-" in text for text in found)
    for text in found:
        text.encode("utf-8")


def test_json_names_the_file_as_people_see_it(tmp_path: Path) -> None:
    root = make(tmp_path)
    output, _ = printed(root, "check", "--format", "json")
    (path,) = {item["path"] for item in json.loads(output)["findings"]}
    assert path == r"jobs/odd-\udcff\udcc3.yaml"
    assert path.encode() in printed(root, "check")[0]


@pytest.mark.parametrize("ascii", [False, True])
@pytest.mark.parametrize("text", ["plain", "ä\u2028\U0001f600", 'back\\slash "quote"\n', "\x00"])
def test_text_comes_back_as_it_was(text: str, ascii: bool) -> None:
    made = json_text({text: [text]}, ascii)
    assert json.loads(made) == {text: [text]}
    assert made.endswith("}\n")
    assert not ascii or made.isascii()


@pytest.mark.parametrize("ascii", [False, True])
def test_half_a_pair_is_shown_and_a_whole_one_is_kept(ascii: bool) -> None:
    assert json.loads(json_text(["\udcff\U0001f600"], ascii)) == ["\\udcff\U0001f600"]
