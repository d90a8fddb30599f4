"""The checkpoint folder without torch: names, manifests, sums, what is kept and what goes."""

from __future__ import annotations

import errno
import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from runwright_runtime import ArgumentsChanged, Damaged, Unusable, Unwritable, arguments, storage
from runwright_runtime.flops import peak, transformer
from runwright_runtime.progress import Progress, Window, amount, described
from runwright_runtime.signals import Signals
from runwright_runtime.storage import Manifest

MADE = Manifest(
    step=12,
    run="job-r1",
    commit="abc",
    at="2026-01-01T00:00:00Z",
    world=4,
    torch="2.15.0",
    arguments={"lr": 0.1, "name": "ä"},
    state={"order": {"consumed": 96}},
)


def publish(folder: Path, step: int, number: int = 1) -> None:
    """Write a checkpoint of one file."""
    written = storage.scratch(folder, step, number)
    written.mkdir(parents=True)
    (written / "data").write_bytes(b"x" * step)
    sums = {"data": storage.fingerprint(written / "data")}
    storage.publish(written, folder, replace(MADE, step=step, files=sums))


def test_a_published_checkpoint_is_read_as_it_was_written(tmp_path: Path) -> None:
    publish(tmp_path, 12)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["LATEST", "step-000000012"]
    found = storage.read(tmp_path, 12)
    assert replace(found, files={}) == MADE
    # echo -n xxxxxxxxxxxx | sha256sum
    digest = "59ffe12a70df15109e0345955e3230a978f31ebc28d8fe3e42d306afb28b8e81"
    assert [tuple(one) for one in found.files.values()] == [(12, digest)]
    assert storage.damage(tmp_path / "step-000000012", found.files.items()) is None
    assert (storage.latest(tmp_path), storage.steps(tmp_path)) == (12, [12])


def test_a_folder_that_is_not_there_has_no_checkpoints(tmp_path: Path) -> None:
    assert storage.steps(tmp_path / "r1") == []
    assert storage.latest(tmp_path / "r1") is None
    (tmp_path / "LATEST").write_text("step-12\n")
    assert storage.latest(tmp_path) is None


def test_the_newest_are_kept_and_what_was_half_written_goes(tmp_path: Path) -> None:
    for step in (10, 5, 20):
        publish(tmp_path, step)
    storage.scratch(tmp_path, 30, 1).mkdir()
    storage.scratch(tmp_path, 30, 2).mkdir()
    storage.scratch(tmp_path, 30, 3).mkdir()
    (tmp_path / ".damaged-step-000000007").mkdir()
    (tmp_path / "COMPLETE.json").write_text("{}")
    (tmp_path / "step-000000099.bak").mkdir()
    assert storage.prune(tmp_path, 2, number=2) == [5]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        # A run of a higher number writes it.
        ".step-000000030.3",
        "COMPLETE.json",
        "LATEST",
        "step-000000010",
        "step-000000020",
        "step-000000099.bak",
    ]
    assert storage.prune(tmp_path, 0, number=2) == [10], "one is kept whatever is said"


def test_steps_are_ordered_by_number(tmp_path: Path) -> None:
    for name in ("step-000000009", "step-1000000000", "step-999999999", "step-12", "steps"):
        (tmp_path / name).mkdir()
    assert storage.steps(tmp_path) == [1_000_000_000, 999_999_999, 9]


def test_a_step_that_is_saved_again_replaces_the_one_before(tmp_path: Path) -> None:
    publish(tmp_path, 12)
    before = (tmp_path / "step-000000012").stat().st_ino
    publish(tmp_path, 12, number=2)
    assert (tmp_path / "step-000000012").stat().st_ino != before
    storage.prune(tmp_path, 3, number=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["LATEST", "step-000000012"]


@pytest.mark.parametrize("value", ["2", "null", '"x"', "{}"])
def test_a_manifest_that_was_changed_is_damaged(value: str, tmp_path: Path) -> None:
    publish(tmp_path, 12)
    path = tmp_path / "step-000000012" / "manifest.json"
    said = json.loads(path.read_text())
    path.write_text(json.dumps({**said, "world": json.loads(value)}))
    with pytest.raises(Damaged, match="was changed after it was written"):
        storage.read(tmp_path, 12)


def test_a_checkpoint_under_the_name_of_another_is_damaged(tmp_path: Path) -> None:
    publish(tmp_path, 12)
    (tmp_path / "step-000000012").rename(tmp_path / "step-000000013")
    with pytest.raises(Damaged, match="is of step 12"):
        storage.read(tmp_path, 13)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
def test_a_folder_that_cannot_be_written_is_told(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(Unwritable) as failure:
        storage.probe(tmp_path / "r1", "1.0")
    assert f"cannot write to {tmp_path / 'r1'} ({os.strerror(number)}): is the" in str(
        failure.value
    )
    assert list((tmp_path / "r1").iterdir()) == []


def test_a_folder_that_can_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    storage.probe(tmp_path / "a" / "r1", "1.0")
    assert list((tmp_path / "a" / "r1").iterdir()) == []
    left = storage.room(tmp_path)
    assert left is not None
    assert left > 0
    assert storage.room(tmp_path / "nowhere") is None


def test_all_differences_of_arguments_are_named() -> None:
    before = {"a": 1, "b": [1, 2], "c": None, "d": "ä", "e": 1, "f": 2}
    now = {"a": 1, "b": [1, 3], "c": 0, "d": "ä", "e": 1.0, "g": True}
    assert list(arguments.differences(before, now, {"f"})) == [
        "b: [1, 2] → [1, 3]",
        "c: null → 0",
        "e: 1 → 1.0",
        "g: not given → true",
    ]
    arguments.refuse_change(before, before, (), "here")
    arguments.refuse_change({"a": 1}, {"a": 2}, {"a"}, "here")
    with pytest.raises(ArgumentsChanged, match=r"^here was made with other arguments \(a: 1 → 2\)"):
        arguments.refuse_change({"a": 1}, {"a": 2}, (), "here")


def test_arguments_are_recorded_as_json_keeps_them() -> None:
    assert arguments.recorded({"a": (1, 2), "b": {"c": None}}) == {"a": [1, 2], "b": {"c": None}}
    assert arguments.recorded({"a": Path("/x")}) == {"a": "/x"}
    for value in (object(), float("nan"), {1, 2}):
        with pytest.raises(Unusable, match="the argument a is"):
            arguments.recorded({"a": value})


def test_signals_are_noted_and_handlers_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Signals() as told:
        assert (told.stop, told.save) == (None, False)
        signal.raise_signal(signal.SIGUSR1)
        assert (told.stop, told.save) == (None, True)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        assert told.stop == signal.SIGTERM, "the first counts"
    assert signal.getsignal(signal.SIGTERM) == before
    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler


@pytest.mark.parametrize(
    ("device", "flops"),
    [
        ("NVIDIA H100 80GB HBM3", 989e12),
        ("NVIDIA H100 PCIe", 756e12),
        ("NVIDIA A100-SXM4-80GB", 312e12),
        ("NVIDIA A10", 125e12),
        ("NVIDIA A10G", None),
        ("NVIDIA L40S", 362e12),
        ("NVIDIA L40", None),
        ("AMD Instinct MI300X", 1307e12),
        ("cpu", None),
    ],
)
def test_the_peak_of_a_device_is_known_by_its_name(device: str, flops: float | None) -> None:
    assert peak(device) == flops


def test_flops_of_a_token_count_parameters_and_attention() -> None:
    assert transformer(10) == 60
    # 6 × 1000 + 12 × 2 layers × 4 heads × 8 × 16 tokens
    assert transformer(1000, layers=2, heads=4, head_size=8, sequence=16) == 6000 + 12288


def test_a_line_of_progress_is_json_and_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "progress" / "job-r1.jsonl"
    window = Window(4)
    window.began -= 2.0
    window.add(1.0, 100, 10)
    window.add(3.0, 100, 10)
    # As two processes would sum it, of which the other has seen losses of 5.
    sums = [a + b for a, b in zip(window.sums(), [10.0, 2, 200, 20], strict=True)]
    values = window.values(6, sums, 2)
    assert values["loss"] == 14 / 4
    assert values["tokens_per_s"] == pytest.approx(200, rel=0.1)
    assert values["step_s"] == pytest.approx(1, rel=0.1)
    progress = Progress("job-r1", path)
    progress.tell("step", described(6, 10, {**values, "mfu": 0.4123}), **values)
    Progress("job-r1", path, speaks=False).tell("step", "silent")
    (line,) = path.read_text().splitlines()
    said = json.loads(line)
    assert (said["event"], said["run"], said["step"], said["loss"]) == ("step", "job-r1", 6, 3.5)
    text = capsys.readouterr().out
    assert text.startswith("step 6/10  loss 3.5000  ")
    assert text.endswith("MFU 41.2%\n")
    Progress("job-r1", "-").tell("begun", "hidden", world=2)
    assert json.loads(capsys.readouterr().out)["world"] == 2


def test_a_line_that_cannot_be_written_ends_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    progress = Progress("job-r1", tmp_path / "file" / "lines.jsonl")
    progress.tell("begun", "one")
    progress.tell("begun", "two")
    said = capsys.readouterr()
    assert said.out == "one\ntwo\n"
    assert said.err.count("runwright: cannot write") == 1


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (12.34, "12.3"), (999, "999"), (12345, "12.3k"), (2.5e15, "2.5P")]
)
def test_amounts_have_three_digits(value: float, text: str) -> None:
    assert amount(value) == text
