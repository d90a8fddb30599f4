"""What a run is refused for before its first step, and what it goes on from all the same."""

from __future__ import annotations

import atexit
import errno
import gc
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from launching import Launcher, Node, free_port, identity, static, until
from trainings import Training


@pytest.fixture(scope="module")
def begun(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Training:
    """A training that has made 8 of its steps and saved twice."""
    folder = tmp_path_factory.mktemp("begun")
    made = Training(launcher, folder / "r1", folder / "out")
    # It ends early, so it is complete; without the marker it is not.
    assert made.alone("--steps", "8").wait() == 0
    (made.folder / "COMPLETE.json").unlink()
    assert made.saved() == ["step-000000004", "step-000000008"]
    return made


@pytest.fixture
def copy(begun: Training, training: Training) -> Training:
    """The same in a folder of one's own."""
    shutil.copytree(begun.folder, training.folder)
    return training


def refused(node: Node, training: Training) -> str:
    """The one line that a run was refused with, before it made a step."""
    assert node.wait() == 78, node.text
    assert training.made() == 0
    assert "Traceback" not in node.text
    (line,) = [line for line in node.text.splitlines() if line.startswith("runwright: ")]
    return line.removeprefix("runwright: ")


def test_other_arguments_are_refused_with_the_differences(copy: Training) -> None:
    said = refused(copy.alone("--lr", "0.5", "--dropout", "0.2"), copy)
    where = copy.folder / "step-000000008"
    assert said == (
        f"{where} was made with other arguments (dropout: 0.1 → 0.2; lr: 0.02 → 0.5): give the "
        "old ones, or train in another folder"
    )
    # What is free to change is: the number of steps.
    assert copy.alone("--steps", "9").wait() == 0
    assert [line["step"] for line in copy.lines()] == [8]


def test_a_batch_that_cannot_be_shared_is_refused(training: Training) -> None:
    port = free_port()
    (one,) = static(1, 3, port)

    argv = training.argv(("--batch", "8"))
    node = training.launcher.start(argv, {**identity(training.folder), **one}, True)
    assert node.wait() == 1
    assert training.made() == 0
    said = "runwright: a batch of 8 samples cannot be shared evenly by 3 processes"
    assert node.text.count(said) == 1, "one process speaks for all"
    assert "exitcode  : 78" in node.text


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        (
            {"WORLD_SIZE": "16", "RANK": "0"},
            (
                "WORLD_SIZE is 16 and LOCAL_RANK is not set: start the program with torchrun, "
                "which gives each process its rank"
            ),
        ),
        (
            {"PET_NNODES": "2", "PET_NPROC_PER_NODE": "8"},
            (
                "there are 1 processes, and the run has 16 (PET_NNODES 2 × PET_NPROC_PER_NODE 8): "
                "start the program with torchrun"
            ),
        ),
        (
            {
                "PET_NNODES": "2:4",
                "PET_NPROC_PER_NODE": "1",
                "LOCAL_RANK": "0",
                "RANK": "0",
                "WORLD_SIZE": "1",
                "LOCAL_WORLD_SIZE": "1",
            },
            "there are 1 processes, and the run has 2 to 4 (PET_NNODES 2:4 × PET_NPROC_PER_NODE 1)",
        ),
        ({"RUN_NUMBER": "x"}, "RUN_NUMBER is 'x', which is no whole number"),
    ],
)
def test_processes_that_are_not_those_of_the_run_are_refused(
    variables: dict[str, str], said: str, training: Training
) -> None:
    assert refused(training.alone(**variables), training) == said
    assert not training.folder.exists()


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (
            lambda step: flip(step / "__0_0.distcp"),
            "__0_0.distcp has other content than was written",
        ),
        (lambda step: (step / ".metadata").unlink(), ".metadata: No such file or directory"),
        (lambda step: os.truncate(step / "__0_0.distcp", 9), "__0_0.distcp has 9 bytes and should"),
        (lambda step: (step / "manifest.json").unlink(), "manifest.json: No such file"),
        (lambda step: (step / "manifest.json").write_text("{"), "manifest.json is no JSON"),
        (lambda step: (step / "manifest.json").write_text("[]"), "manifest.json is no map"),
        (
            lambda step: (step / "manifest.json").write_text(
                (step / "manifest.json").read_text().replace("0.02", "0.03")
            ),
            "manifest.json was changed after it was written",
        ),
    ],
)
def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(
    harm: Callable[[Path], object], said: str, copy: Training
) -> None:
    harm(copy.folder / "step-000000008")
    node = copy.alone("--steps", "6")
    assert node.wait() == 0, node.text
    assert f"runwright: step-000000008 is damaged: {said}" in node.text
    assert [line["step"] for line in copy.lines()] == [4, 5]
    assert copy.saved()[:2] == ["step-000000004", "step-000000006"]


def test_a_missing_newest_checkpoint_is_told(copy: Training) -> None:
    shutil.rmtree(copy.folder / "step-000000008")
    node = copy.alone("--steps", "5")
    assert node.wait() == 0
    assert "runwright: step-000000008 was the newest and is missing" in node.text
    assert [line["step"] for line in copy.lines()] == [4]


def test_a_training_does_not_begin_from_zero_in_silence(copy: Training) -> None:
    for step in copy.folder.glob("step-*"):
        flip(step / "__0_0.distcp")
    said = refused(copy.alone(), copy)
    assert said.startswith(f"no checkpoint in {copy.folder} is whole (step-000000008 is damaged: ")
    assert said.endswith("delete the folder to train from the beginning")


def test_the_last_checkpoint_is_not_missed_in_silence(copy: Training) -> None:
    for step in copy.folder.glob("step-*"):
        shutil.rmtree(step)
    said = refused(copy.alone(), copy)
    assert said == f"{copy.folder / 'step-000000008'} is missing, and there is no other"


def test_a_run_starts_from_the_folder_of_another(begun: Training, training: Training) -> None:
    node = training.alone("--lr", "0.01", "--steps", "9", CHECKPOINT_FROM=str(begun.folder))
    assert node.wait() == 0, node.text
    notes = [event["note"] for event in training.events("note")]
    assert notes == [
        f"starts from {begun.folder / 'step-000000008'}",
        "other arguments than there: lr: 0.02 → 0.01",
    ]
    assert [line["step"] for line in training.lines()] == [8]
    assert begun.saved() == ["step-000000004", "step-000000008"]
    # Once it has a checkpoint of its own, that is where it goes on.
    (training.folder / "COMPLETE.json").unlink()
    again = training.alone("--lr", "0.01", "--steps", "10", CHECKPOINT_FROM=str(begun.folder))
    assert again.wait() == 0
    assert [line["step"] for line in training.lines()] == [8, 9]


def test_a_checkpoint_of_another_model_or_dataset_is_refused(
    begun: Training, training: Training
) -> None:
    source = {"CHECKPOINT_FROM": str(begun.folder)}
    node = training.alone("--hidden", "17", **source)
    assert node.wait() == 78
    assert f"runwright: {begun.folder / 'step-000000008'} does not fit this model: " in node.text
    node = training.alone("--samples", "51", **source)
    assert node.wait() == 78
    assert "runwright: the order of the data is another one: samples was 50 and is 51" in node.text
    node = training.alone(CHECKPOINT_FROM=str(training.out))
    assert node.wait() == 78
    assert f"there is no checkpoint in {training.out} to start from" in node.text
    assert training.made() == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a disk with options of one's own; skips where this user may not."""
    mounted: list[Path] = []

    def mount(options: str) -> Path:
        folder = tmp_path / f"disk-{len(mounted)}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        if os.geteuid() != 0:
            command = ["sudo", "-n", *command]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("this user may not mount a file system")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
        subprocess.run([*prefix, "umount", "-l", str(folder)], check=True)


def fill(path: Path) -> None:
    """Take all that is left of a disk."""
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass


def test_a_folder_that_cannot_be_written_or_is_full_is_told_at_the_start(
    training: Training, disk: Callable[[str], Path]
) -> None:
    cases = {
        "ro": os.strerror(errno.EROFS),
        # Room for the fence, and not for the file that is tried.
        "size=64k,mode=777": os.strerror(errno.ENOSPC),
    }
    for options, why in cases.items():
        training.folder = disk(options) / "r1"
        said = refused(training.alone(), training)
        assert said.startswith(f"cannot write to {training.folder} ({why}): is the claim there")
    # Room to begin, and not for a checkpoint: 6 × 40000 numbers, with their moments.
    training.folder = disk("size=2m,mode=777") / "r1"
    said = refused(training.alone("--hidden", "40000"), training)
    assert said.startswith(f"{training.folder} has room for ")
    assert "and a checkpoint takes about 3.84MB: delete old ones, or ask for a larger claim" in said


def test_a_disk_that_fills_up_costs_a_checkpoint_and_not_the_training(
    training: Training, disk: Callable[[str], Path]
) -> None:
    training.folder = disk("size=4m,mode=777") / "r1"
    filler = training.folder.parent / "other"
    node = training.alone("--pause", "0.3", "--steps", "16", "--save", "2")

    until(lambda: training.events("saved"), node)
    fill(filler)
    until(lambda: "was not saved" in node.text, node)
    filler.unlink()
    assert node.wait() == 0, node.text
    assert "No space left on device" in node.text
    assert json.loads((training.folder / "COMPLETE.json").read_text())["step"] == 16
    assert training.saved()[-1] == "step-000000016"
    assert not list(training.folder.glob(".step-*"))


def test_a_disk_that_stays_full_ends_the_run(
    training: Training, disk: Callable[[str], Path]
) -> None:
    training.folder = disk("size=1200k,mode=777") / "r1"
    filler = training.folder.parent / "other"
    node = training.alone("--pause", "0.2", "--save", "2")

    until(lambda: training.made() >= 1, node)
    fill(filler)
    assert node.wait() == 78, node.text
    assert node.text.splitlines()[-1].startswith("runwright: step ")
    assert "was not saved: process 0: " in node.text.splitlines()[-1]
    assert not (training.folder / "COMPLETE.json").exists()


def test_nothing_is_saved_without_a_folder(training: Training) -> None:

    node = training.launcher.start(
        training.argv(("--steps", "3")),
        identity(None),
        False,
    )
    assert node.wait() == 0, node.text
    assert training.made() == 3
    assert "no CHECKPOINT_DIR: nothing will be saved" in node.text
    assert not training.folder.exists()


def test_a_process_that_ends_looks_for_no_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    from runwright_runtime.distributed import join, leave

    at_exit: list[object] = []
    join()
    monkeypatch.setattr(atexit, "register", at_exit.append)
    leave()
    assert at_exit == [gc.freeze]
