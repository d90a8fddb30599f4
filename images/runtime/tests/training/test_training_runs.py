"""Runs of two nodes with two processes each, and what becomes of them when they are interrupted."""

from __future__ import annotations

import json
import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from launching import Launcher, free_port, until
from trainings import Training

STEPS = 24


@pytest.fixture(scope="module")
def whole(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Training]:
    """A training on two nodes with two processes each that nothing has interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    made = Training(launcher, folder / "r1", folder / "out")
    running = made.nodes()
    assert [node.wait() for node in running] == [0, 0], running[0].text
    yield made
    shutil.rmtree(folder)


def test_a_training_is_saved_told_and_marked(whole: Training) -> None:
    assert whole.saved() == ["step-000000016", "step-000000020", "step-000000024"]
    assert (whole.folder / "LATEST").read_text() == "step-000000024\n"
    done = json.loads((whole.folder / "COMPLETE.json").read_text())
    assert (done["run"], done["step"]) == ("job-r1", STEPS)
    assert (whole.folder / "OWNER" / "1.0").read_text() == "released\n"
    assert not [path for path in whole.folder.iterdir() if path.name.startswith(".")]
    told = whole.events("step")
    assert [line["step"] for line in told] == list(range(2, STEPS + 1, 2))
    assert all(line["world"] == 4 for line in told)
    # The mean over all processes and both steps of a line.
    losses = [whole.losses(rank) for rank in range(4)]
    expected = sum(found[step] for found in losses for step in (22, 23)) / 8
    assert told[-1]["loss"] == pytest.approx(expected, rel=1e-9)
    assert float(str(told[-1]["tokens_per_s"])) > 0
    (complete,) = whole.events("complete")
    assert 0 < float(str(complete["waited_share"])) < 1
    kinds = {str(line["event"]) for line in whole.events("saved")}
    assert kinds == {"saved"}
    assert sorted(int(str(line["step"])) for line in whole.events("saved")) == [
        4,
        8,
        12,
        16,
        20,
        24,
    ]


def test_all_processes_together_take_each_sample_once_in_an_epoch(whole: Training) -> None:
    order = whole.order()
    flat = [sample for step in range(STEPS) for part in order[step] for sample in part]  # type: ignore[attr-defined]
    assert len(flat) == STEPS * 8
    for epoch in range(3):
        assert sorted(flat[epoch * 50 : epoch * 50 + 50]) == list(range(50))
    assert flat[:50] != flat[50:100]


def test_a_finished_training_costs_nothing(whole: Training) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.folder.rglob("*")}
    steps = [whole.made(rank) for rank in range(4)]
    nodes = whole.nodes()
    assert [node.wait() for node in nodes] == [0, 0]
    again = whole.alone(number=2)
    assert again.wait() == 0
    for node in (*nodes, again):
        assert "complete since job-r1 at step 24; nothing to do" in node.text
    assert [whole.made(rank) for rank in range(4)] == steps
    assert {path: path.stat().st_mtime_ns for path in whole.folder.rglob("*")} == before


def test_a_training_that_was_killed_stopped_and_damaged_learns_the_same_to_the_bit(
    whole: Training, training: Training
) -> None:
    # A node is lost at a step that nobody has chosen.
    at = random.randrange(6, 14)
    first = training.nodes("--pause", "0.1")
    # A step may be made before the checkpoint of an earlier one is whole.
    saved = training.folder / "LATEST"
    until(lambda: training.made(3) >= at and saved.exists(), *first)
    first[1].kill()
    assert first[1].wait() == -signal.SIGKILL
    assert first[0].wait() == 1, "torchrun ends with 1 when its workers have lost their peers"
    left = training.made()
    assert left < STEPS
    assert not (training.folder / "COMPLETE.json").exists()

    # The operator starts both nodes again; then one of them is told to stop.
    second = training.nodes("--pause", "0.1")
    until(lambda: training.made() >= left + 4, *second)
    second[1].signal(signal.SIGTERM)
    # torchrun makes 1 of any end of its workers but 0; those have ended with 143.
    assert [node.wait() for node in second] == [1, 1]
    assert "exitcode  : 143" in second[0].text
    (resumed,) = training.events("resumed")
    (stopped,) = training.events("stopped")
    assert stopped["signal"] == signal.SIGTERM
    begun = int(str(resumed["step"]))
    end = int(str(stopped["step"]))
    assert begun % 4 == 0
    assert begun < end < STEPS
    # All processes have stopped after the same step, and it is saved.
    assert {training.lines(rank)[-1]["step"] for rank in range(4)} == {end - 1}
    assert training.saved()[-1] == f"step-{end:09d}"
    assert (training.folder / "LATEST").read_text() == f"step-{end:09d}\n"
    assert (training.folder / "OWNER" / "1.0").read_text() == "released\n"

    # One bit of the newest checkpoint turns, where only a checksum can see it.
    victim = max((training.folder / f"step-{end:09d}").glob("__*.distcp"))
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)
    # And a run was killed while it wrote.
    (training.folder / ".step-000000999.1").mkdir()
    third = training.nodes()
    assert [node.wait() for node in third] == [0, 0], third[0].text
    (note,) = training.events("note")
    assert (
        note["note"]
        == f"step-{end:09d} is damaged: {victim.name} has other content than was written"
    )
    assert note["note"] in third[0].text
    again = int(str(training.events("resumed")[-1]["step"]))
    assert again < end
    assert not [path for path in training.folder.iterdir() if path.name.startswith(".")]

    assert training.order() == whole.order()
    mine, theirs = training.weights(), whole.weights()
    assert mine.keys() == theirs.keys()
    for name, tensor in theirs.items():
        assert torch.equal(mine[name], tensor), name
    for rank in range(4):
        assert training.losses(rank) == whole.losses(rank)


def test_an_elastic_run_learns_the_same_with_other_numbers_of_nodes(
    launcher: Launcher, training: Training, tmp_path: Path
) -> None:
    arguments = ("--dropout", "0", "--steps", "40", "--save", "3")
    straight = Training(launcher, tmp_path / "straight", tmp_path / "straight-out", arguments)
    assert straight.alone().wait() == 0
    training.arguments = (*arguments, "--pause", "0.25")
    port = free_port()

    def seen(world: int) -> int:
        return sum(line["world"] == world for line in training.lines())

    first = training.worker(0, port)
    until(lambda: seen(2) >= 5, first)
    second = training.worker(1, port)
    until(lambda: seen(4) >= 5, first, second)
    before = seen(2)
    second.kill()
    until(lambda: seen(2) >= before + 3, first)
    assert first.wait() == 0, first.text

    worlds = [line["world"] for line in training.lines()]
    assert [world for at, world in enumerate(worlds) if at == 0 or worlds[at - 1] != world] == [
        2,
        4,
        2,
    ]
    assert any("4 processes go on where 2 were" in str(e["note"]) for e in training.events("note"))
    # The samples of each step are the same, whoever had them.
    expected = {step: parts[0] for step, parts in straight.order(1).items()}
    counted: dict[int, dict[int, object]] = {}
    for rank in range(4):
        for line in training.lines(rank):
            counted.setdefault(int(str(line["step"])), {})[rank] = line
    for step, found in counted.items():
        last = found[0]
        size = int(str(last["world"]))  # type: ignore[index]
        together = [one for rank in range(size) for one in found[rank]["samples"]]  # type: ignore[index]
        assert together == expected[step], step
        loss = sum(float(found[rank]["loss"]) for rank in range(size)) / size  # type: ignore[index]
        assert loss == pytest.approx(straight.losses()[step], abs=1e-4), step
    for name, tensor in straight.weights().items():
        torch.testing.assert_close(training.weights()[name], tensor, rtol=1e-3, atol=1e-4)


def test_shards_are_loaded_by_another_number_of_processes(
    launcher: Launcher, training: Training, tmp_path: Path
) -> None:
    training.arguments = ("--shard", "--dropout", "0", "--steps", "8")
    straight = Training(launcher, tmp_path / "straight", tmp_path / "straight-out")
    assert straight.alone("--dropout", "0", "--steps", "12").wait() == 0
    (node,) = training.nodes(nodes=1, each=2)
    assert node.wait() == 0, node.text
    files = {path.name for path in (training.folder / "step-000000008").glob("*.distcp")}
    assert files == {"__0_0.distcp", "__1_0.distcp"}, "each process writes its own shards"
    (training.folder / "COMPLETE.json").unlink()
    alone = training.alone("--steps", "12")
    assert alone.wait() == 0, alone.text
    assert [line["step"] for line in training.lines()] == list(range(12))
    for step in range(8, 12):
        assert training.losses()[step] == pytest.approx(straight.losses()[step], abs=1e-5)


def test_a_successor_waits_for_the_last_checkpoint_and_goes_on_from_it(training: Training) -> None:
    first = training.alone("--pause", "0.4")
    until(lambda: training.made() >= 2, first)
    second = training.alone(number=2)
    # What the program itself ends with, without torchrun.
    assert first.wait() == 128 + signal.SIGTERM
    assert second.wait() == 0, second.text
    (stopped,) = training.events("stopped")
    (resumed,) = training.events("resumed")
    assert resumed["step"] == stopped["step"]
    assert resumed["run"] == "job-r2"
    assert [line["step"] for line in training.lines()] == list(range(STEPS))
    assert json.loads((training.folder / "COMPLETE.json").read_text())["run"] == "job-r2"


def test_a_run_that_was_taken_over_writes_nothing_more(training: Training) -> None:
    one = training.alone("--pause", "0.1", "--save", "6")
    until(lambda: training.made() >= 2, one)
    # As a successor does with one that has not let go in time.
    (training.folder / "OWNER" / "2.0").write_text("held 30\n")
    # The process has no rank, so its entry has the name of its host.
    (own,) = (training.folder / "OWNER").glob("1.*")
    own.write_text("taken by 2\n")
    assert one.wait() == 77
    assert "runwright: run 2 owns" in one.text
    assert "Traceback" not in one.text
    assert training.saved() == []
    assert not (training.folder / "LATEST").exists()
    assert not list(training.folder.glob(".step-*"))
    assert own.read_text() == "taken by 2\n"
    late = training.alone()
    assert late.wait() == 77
    assert training.saved() == []


def test_a_training_that_is_left_is_not_complete_and_one_that_ends_early_is(
    training: Training,
) -> None:
    left = training.alone("--leave", "9")
    assert left.wait() == 1
    assert "left after step 9 of 24: not complete" in left.text
    assert not (training.folder / "COMPLETE.json").exists()
    assert training.saved() == ["step-000000004", "step-000000008"]
    early = training.alone("--finish", "10")
    assert early.wait() == 0, early.text
    assert [line["step"] for line in training.lines()] == [*range(10), 8, 9, 10]
    assert json.loads((training.folder / "COMPLETE.json").read_text())["step"] == 11
    assert training.saved()[-1] == "step-000000011"


def test_a_signal_asks_for_a_checkpoint(training: Training) -> None:
    node = training.alone("--save", "1000", "--pause", "0.2")
    until(lambda: training.made() >= 2, node)
    node.signal(signal.SIGUSR1)
    until(lambda: training.events("saved"), node)
    assert node.wait() == 0, node.text
    first, last = training.saved()
    assert 2 <= int(first.removeprefix("step-")) < STEPS
    assert last == f"step-{STEPS:09d}"


def test_a_run_that_waits_for_the_one_before_can_be_stopped(training: Training) -> None:
    owner = training.folder / "OWNER"
    owner.mkdir(parents=True)
    (owner / "1.0").write_text("held 600\n")
    node = training.alone(number=2)
    until(lambda: list(owner.glob("2.*")), node)
    node.signal(signal.SIGTERM)
    assert node.wait() == 128 + signal.SIGTERM
    (own,) = owner.glob("2.*")
    assert own.read_text() == "released\n"
    assert (owner / "1.0").read_text() == "held 600\n"
    assert training.made() == 0


def test_processes_that_do_not_come_are_told(training: Training) -> None:
    rank = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    node = training.alone("--timeout", "2", **rank, **address)
    assert node.wait() == 78
    assert "runwright: the 2 processes did not find each other within 0:00:02: " in node.text
    assert training.made() == 0
