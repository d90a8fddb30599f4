"""Which run a process belongs to, and whether its training is complete."""

from __future__ import annotations

import ast
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import runwright_runtime
from runwright_runtime import Completion, Damaged, MissingVariable, Run, Superseded, Unwritable

IDENTITY = {
    "RUN_NAME": "sft-r7",
    "RUN_NUMBER": "7",
    "RUN_LINEAGE": "sft-r1",
    "SOURCE_COMMIT": "abc",
}


def run(folder: Path, **variables: str) -> Run:
    return Run.from_environment({**IDENTITY, "CHECKPOINT_DIR": str(folder), **variables})


def test_the_environment_says_which_run_it_is(tmp_path: Path) -> None:
    found = run(tmp_path, RANK="3", HOSTNAME="sft-r7-worker-2")
    assert found == Run("sft-r7", 7, "sft-r1", tmp_path, "abc", rank=3, host="sft-r7-worker-2")


def test_the_process_environment_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("HOSTNAME", raising=False)
    for name, value in {**IDENTITY, "CHECKPOINT_DIR": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    found = Run.from_environment()
    assert (found.number, found.rank, found.host) == (7, None, socket.gethostname())


@pytest.mark.parametrize("name", [*IDENTITY, "CHECKPOINT_DIR"])
@pytest.mark.parametrize("missing", [True, False])
def test_a_missing_or_empty_variable_is_named(name: str, missing: bool, tmp_path: Path) -> None:
    values = {**IDENTITY, "CHECKPOINT_DIR": str(tmp_path)}
    values = {k: v for k, v in values.items() if k != name} if missing else {**values, name: ""}
    with pytest.raises(MissingVariable, match=f"^{name} is not set"):
        Run.from_environment(values)


@pytest.mark.parametrize("number", ["x", "-1", "7.0", " 7", "٧", "1" * 10])
def test_a_number_that_is_none_is_told(number: str, tmp_path: Path) -> None:
    with pytest.raises(MissingVariable, match=r"RUN_NUMBER is .* which is no whole number"):
        run(tmp_path, RUN_NUMBER=number)


@pytest.mark.parametrize(
    ("variables", "rank", "writes"),
    [
        ({}, None, True),
        ({"RANK": "0", "PET_NODE_RANK": "0"}, 0, True),
        ({"RANK": "5", "PET_NODE_RANK": "0"}, 5, False),
        ({"PET_NODE_RANK": "1"}, 1, False),
        ({"PET_NODE_RANK": "0"}, 0, True),
    ],
)
def test_one_process_speaks_for_the_run(
    variables: dict[str, str], rank: int | None, writes: bool, tmp_path: Path
) -> None:
    found = run(tmp_path, **variables)
    assert (found.rank, found.writes) == (rank, writes)


def test_a_training_is_complete_once_it_says_so(tmp_path: Path) -> None:
    one = run(tmp_path / "new")
    assert one.complete() is None
    with one.fence():
        said = one.mark_complete(step=1200)
    assert said is not None
    assert said.run == "sft-r7"
    assert said.step == 1200
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", said.at or "")
    text = (tmp_path / "new" / "COMPLETE.json").read_text()
    assert json.loads(text) == {"run": "sft-r7", "at": said.at, "step": 1200}
    assert run(tmp_path / "new", RANK="4").complete() == said


def test_only_the_one_who_speaks_marks(tmp_path: Path) -> None:
    with run(tmp_path, RANK="0").fence():
        assert run(tmp_path, RANK="1").mark_complete(3) is None
        assert run(tmp_path).complete() is None


def test_nobody_marks_without_the_fence(tmp_path: Path) -> None:
    with pytest.raises(Superseded, match="run 7 does not hold"):
        run(tmp_path).mark_complete(3)
    one = run(tmp_path)
    with one.fence():
        pass
    with pytest.raises(Superseded, match="run 7 does not hold"):
        one.mark_complete(3)
    assert one.complete() is None


@pytest.mark.parametrize(
    "text", [b"", b"{", b"null", b"[]", b"{}", b'{"run": ""}', b'{"run": 7}', b"\xff\x00"]
)
def test_a_damaged_marker_is_neither_yes_nor_no(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "COMPLETE.json").write_bytes(text)
    with pytest.raises(Damaged, match=r"COMPLETE\.json is damaged: delete it if"):
        run(tmp_path).complete()


def test_a_marker_that_is_a_folder_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "COMPLETE.json").mkdir()
    with pytest.raises(Damaged, match="Is a directory"):
        run(tmp_path).complete()


@pytest.mark.parametrize(
    ("text", "at", "step"),
    [
        ('{"run": "sft-r1"}', None, None),
        ('{"run": "sft-r1", "at": null, "step": null}', None, None),
        ('{"run": "sft-r1", "at": 3, "step": true}', None, None),
        (
            '{\n "run": "sft-r1", "step": 9, "at": "2026-01-01T00:00:00Z"\n}',
            "2026-01-01T00:00:00Z",
            9,
        ),
    ],
)
def test_a_marker_by_hand_counts(
    text: str, at: str | None, step: int | None, tmp_path: Path
) -> None:
    (tmp_path / "COMPLETE.json").write_text(text)
    assert run(tmp_path).complete() == Completion("sft-r1", at, step)


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unwritable, match="is no folder"):
        run(tmp_path / "file").complete()
    with pytest.raises(Unwritable, match="is the claim there"):
        run(tmp_path / "file" / "r1").fence().acquire()


# Modules that a program imports by their names, when it needs them.
TORCH = {
    "checkpoints.py",
    "distributed.py",
    "meeting.py",
    "randomness.py",
    "session.py",
    "starting.py",
    "state.py",
}


def test_nothing_but_the_standard_library_is_used_without_a_need() -> None:
    folder = Path(runwright_runtime.__file__).parent
    used: dict[str, set[str]] = {}
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names.append(node.module or "")
                # A module that needs torch must not come with one that does not.
                if path.name not in TORCH:
                    assert f"{(node.module or '').rpartition('.')[2]}.py" not in TORCH, path.name
            used.setdefault(path.name, set()).update(name.partition(".")[0] for name in names)
    own = {"runwright_runtime"}
    foreign = {name: found - sys.stdlib_module_names - own for name, found in used.items()}
    # It is told the image's own model, and so may count on what that is made of.
    assert foreign.pop("commandline.py") == {"pydantic"}
    assert {name for name, found in foreign.items() if found} <= TORCH <= set(used)
    assert set().union(*foreign.values()) == {"torch"}
    assert (folder / "py.typed").exists()
    assert os.access(folder / "py.typed", os.R_OK)


def test_a_run_says_how_often_it_saves_and_from_where_it_starts(tmp_path: Path) -> None:
    found = run(
        tmp_path, CHECKPOINT_EVERY="1800", CHECKPOINT_KEEP="2", CHECKPOINT_FROM="/ckpt/sft/r1"
    )
    assert (found.every, found.keep, found.source) == (1800, 2, Path("/ckpt/sft/r1"))
    bare = run(tmp_path)
    assert (bare.every, bare.keep, bare.source) == (None, None, None)


def test_a_program_outside_of_runs_has_none(tmp_path: Path) -> None:
    assert Run.here({}) is None
    assert Run.here(IDENTITY) is None
    assert Run.here({**IDENTITY, "CHECKPOINT_DIR": str(tmp_path)}) == run(tmp_path)
    with pytest.raises(MissingVariable, match="RUN_NAME is not set"):
        Run.here({"CHECKPOINT_DIR": str(tmp_path)})


def ended(folder: Path) -> subprocess.CompletedProcess[str]:
    """How a program ends whose first line asks whether it is complete."""
    text = "from runwright_runtime import end_if_complete\nend_if_complete()\nprint('trains')"
    environment = {**os.environ, **IDENTITY, "CHECKPOINT_DIR": str(folder)}
    environment["PYTHONPATH"] = str(Path(runwright_runtime.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-c", text], env=environment, text=True, capture_output=True, check=False
    )


def test_a_program_ends_at_once_when_its_training_is_complete(tmp_path: Path) -> None:
    assert ended(tmp_path).stdout == "trains\n"
    (tmp_path / "COMPLETE.json").write_text('{"run": "sft-r6", "step": 12}')
    done = ended(tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "runwright: complete since sft-r6 at step 12; nothing to do\n"
    (tmp_path / "COMPLETE.json").write_text("{")
    damaged = ended(tmp_path)
    assert (damaged.returncode, damaged.stdout) == (78, "")
    assert "COMPLETE.json is damaged" in damaged.stderr
    assert "Traceback" not in damaged.stderr
