"""Runs of the image: interrupted, with more nodes and fewer, and with what does not fit."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from launching import RUNTIME, Launcher, free_port, identity, static, until
from pretrainings import ABOUT, IMAGE, LENGTH, TOKENS, Pretraining, tokens

STEPS = 24


@pytest.fixture(scope="module")
def uncut(starter: Launcher, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Pretraining:
    """A training on two nodes with two processes each that nothing has interrupted."""
    made = Pretraining(starter, tmp_path_factory.mktemp("uncut") / "r1", data)
    running = made.nodes()
    assert [node.wait() for node in running] == [0, 0], running[0].text
    return made


def test_all_processes_together_are_given_each_sequence_once_in_an_epoch(
    uncut: Pretraining, data: Path
) -> None:
    order = uncut.order()
    assert sorted(order) == list(range(STEPS))
    assert {len(rows) for rows in order.values()} == {8}
    given = [row for rows in order.values() for row in rows]
    row = tokens(data).tolist()
    # The last sequence is filled up; its last token is a target only.
    row += [0] * (91 * LENGTH - TOKENS)
    row[TOKENS - 1] = 0
    sequences = [row[begin : begin + LENGTH] for begin in range(0, len(row), LENGTH)]
    assert sorted(given[:91]) == sorted(sequences)
    assert sorted(given[91:182]) == sorted(sequences)
    (about,) = uncut.events("data")
    assert (about["tokens"], about["sequences"], about["batch"]) == (TOKENS, 91, 8)


def test_progress_has_the_loss_of_all_processes_and_their_arithmetic(uncut: Pretraining) -> None:
    told = {line["step"]: line for line in uncut.events("step")}
    losses = uncut.losses()
    assert sorted(told) == list(range(2, STEPS + 1, 2))
    for step, line in told.items():
        assert line["world"] == 4
        assert line["loss"] == pytest.approx((losses[step - 1] + losses[step - 2]) / 2, rel=1e-5)
        per_token = line["flops_per_s"] / line["tokens_per_s"]
        # 12 width² a block, the embedding, and attention over the sequence.
        matrices = 2 * 12 * 16**2 + 64 * 16
        assert per_token == pytest.approx(6 * matrices + 12 * 2 * 16 * LENGTH)


def test_a_training_that_lost_a_node_and_was_stopped_learns_the_same_to_the_bit(
    uncut: Pretraining, pretraining: Pretraining
) -> None:
    at = random.randrange(5, 11)
    first = pretraining.nodes(pause=0.1)
    # What is written of a step may be ahead of the checkpoint of the step before.
    saved = pretraining.folder / "LATEST"
    until(lambda: len(pretraining.lines(3)) >= at and saved.exists(), *first)
    first[1].kill()
    assert first[1].wait() == -signal.SIGKILL
    assert first[0].wait() == 1, "torchrun ends with 1 when its workers have lost their peers"
    left = len(pretraining.lines())
    assert left < STEPS
    assert not (pretraining.folder / "COMPLETE.json").exists()

    # Both nodes are started again; then one of them is told to stop.
    second = pretraining.nodes(pause=0.1)
    until(lambda: len(pretraining.lines()) >= left + 3, *second)
    second[1].signal(signal.SIGTERM)
    assert [node.wait() for node in second] == [1, 1]
    (resumed,) = pretraining.events("resumed")
    (stopped,) = pretraining.events("stopped")
    assert resumed["step"] % 4 == 0
    assert resumed["step"] < stopped["step"] < STEPS
    assert (pretraining.folder / "LATEST").read_text() == f"step-{stopped['step']:09d}\n"

    third = pretraining.nodes()
    assert [node.wait() for node in third] == [0, 0], third[0].text
    assert pretraining.events("resumed")[-1]["step"] == stopped["step"]
    # In the same processes, not only in the same steps.
    assert pretraining.steps() == uncut.steps()
    mine, theirs = pretraining.weights(STEPS), uncut.weights(STEPS)
    assert mine.keys() == theirs.keys()
    # Weights, and what the optimizer knows of them.
    assert {name.partition(".")[0] for name in mine} == {"model", "optimizer"}
    for name, tensor in theirs.items():
        assert torch.equal(mine[name], tensor), name


def test_an_elastic_run_learns_the_same_with_other_numbers_of_nodes(
    uncut: Pretraining, pretraining: Pretraining
) -> None:
    port = free_port()

    def seen(world: int) -> int:
        return sum(line["world"] == world for line in pretraining.lines())

    first = pretraining.worker(0, port, "--save-every=2", pause=0.3)
    until(lambda: seen(2) >= 3, first)
    second = pretraining.worker(1, port, "--save-every=2", pause=0.3)
    until(lambda: seen(4) >= 3, first, second)
    before = seen(2)
    second.kill()
    until(lambda: seen(2) > before, first)
    assert first.wait() == 0, first.text
    worlds = [line["world"] for line in pretraining.lines()]
    changes = [now for at, now in enumerate(worlds) if at == 0 or worlds[at - 1] != now]
    assert changes == [2, 4, 2]
    # The order is the same to the token, and the loss but for rounding.
    assert pretraining.order() == uncut.order()
    for step, loss in uncut.losses().items():
        assert pretraining.losses()[step] == pytest.approx(loss, rel=1e-4), step
    mine = pretraining.weights(STEPS)
    for name, tensor in uncut.weights(STEPS).items():
        if name.startswith("model."):
            torch.testing.assert_close(mine[name], tensor, rtol=1e-2, atol=1e-3)


def test_a_finished_lineage_ends_without_torch(uncut: Pretraining, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit('torch was imported')\n")
    (tmp_path / "pydantic.py").write_text("raise SystemExit('pydantic was imported')\n")
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(IMAGE / "train.py"), *ABOUT["tiny"]],
        env={**os.environ, **identity(uncut.folder, 2), "PYTHONPATH": f"{tmp_path}:{RUNTIME}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"complete since job-r1 at step {STEPS}; nothing to do" in done.stderr
    # The promise to those who start jobs again; it takes a tenth of this.
    assert time.monotonic() - began < 5


def refused(pretraining: Pretraining, *more: str) -> str:
    """The line with which a start is refused, before any step."""
    before = len(pretraining.lines())
    node = pretraining.alone(*more)
    assert node.wait() == 78, node.text
    assert "Traceback" not in node.text
    assert len(pretraining.lines()) == before
    (line,) = [line for line in node.text.splitlines() if line.startswith("runwright: ")]
    return line


@pytest.fixture(scope="module")
def stopped(starter: Launcher, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Pretraining:
    """A training of one process that was told to stop."""
    made = Pretraining(starter, tmp_path_factory.mktemp("stopped") / "r1", data)
    node = made.alone(pause=0.2)
    until(lambda: len(made.lines()) >= 2, node)
    node.signal(signal.SIGTERM)
    assert node.wait() == 128 + signal.SIGTERM
    return made


def test_a_training_goes_on_with_its_own_arguments_and_tokens_only(
    stopped: Pretraining, tmp_path: Path
) -> None:
    (event,) = stopped.events("stopped")
    where = stopped.folder / f"step-{event['step']:09d}"
    assert refused(stopped, "--learning-rate=0.02", "--width=32") == (
        f"runwright: {where} was made with other arguments (learning_rate: 0.01 → 0.02; width: "
        "16 → 32): give the old ones, or train in another folder"
    )
    line = refused(stopped, "--global-batch=4")
    assert (
        "a step had 8 sequences, and would have 4 with 1 processes: give --global-batch=8" in line
    )
    other = tmp_path / "other"
    shutil.copytree(stopped.data, other)
    index = json.loads((other / "index.json").read_text())
    index["shards"].reverse()
    (other / "index.json").write_text(json.dumps(index))
    assert "the tokens are not those that the checkpoint" in refused(stopped, f"--data={other}")
    # The same tokens elsewhere, and the work shared in another way.
    moved = tmp_path / "moved"
    shutil.copytree(stopped.data, moved)
    more = (f"--data={moved}", "--micro-batch=4", "--sharding=none", "--workers=1", "--log-every=3")
    node = stopped.alone(*more)
    assert node.wait() == 0, node.text
    assert stopped.events("resumed")[-1]["step"] == event["step"]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.unlink(), "cannot read {path}: No such file or directory"),
        (
            lambda path: path.write_bytes(path.read_bytes()[:-2]),
            "{path} has 1198 bytes and should have 1200: copy it again",
        ),
        (
            lambda path: path.write_bytes(path.read_bytes()[:-2] + b"\1\0"),
            "{path} has other content than index.json says: pack or copy it again",
        ),
    ],
    ids=["missing", "truncated", "corrupt"],
)
def test_damaged_shards_are_refused_before_the_first_step(
    damage: object, said: str, pretraining: Pretraining, tmp_path: Path
) -> None:
    folder = tmp_path / "shards"
    shutil.copytree(pretraining.data, folder)
    path = folder / "shard-00001.bin"
    damage(path)  # type: ignore[operator]
    assert refused(pretraining, f"--data={folder}") == f"runwright: {said.format(path=path)}"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--vocabulary=40",), "have a vocabulary of 64 tokens, and the model one of 40"),
        (("--micro-batch=3",), "global_batch is 8, and 1 processes with micro_batch 3 take 3"),
        (("--config={folder}/c.yaml",), "c.yaml has 'hidden', which is no argument"),
        (("--config={folder}/d.yaml",), "cannot read {folder}/d.yaml: No such file"),
    ],
)
def test_arguments_that_fit_nothing_are_refused(
    words: tuple[str, ...], said: str, pretraining: Pretraining, tmp_path: Path
) -> None:
    (tmp_path / "c.yaml").write_text("hidden: 3\n")
    line = refused(pretraining, *(word.format(folder=tmp_path) for word in words))
    assert said.format(folder=tmp_path) in line


def test_an_elastic_run_needs_a_batch_that_all_its_sizes_can_share(
    pretraining: Pretraining,
) -> None:
    bounds = {"PET_NNODES": "1:3", "PET_NPROC_PER_NODE": "1"}
    argv = pretraining.argv(())
    environment = {**pretraining.environment(0), **bounds}
    node = pretraining.launcher.start(argv, environment, False)
    assert node.wait() == 78, node.text
    assert "runwright: global_batch is 8, and 3 processes with micro_batch 2 take 6" in node.text
    argv = [word for word in argv if not word.startswith("--global-batch")]
    node = pretraining.launcher.start(argv, environment, False)
    assert node.wait() == 78, node.text
    assert "as many sequences with each number of them: give --global-batch" in node.text


def test_a_file_of_arguments_comes_under_the_command_line(tmp_path: Path) -> None:
    from pretrainings import read

    path = tmp_path / "c.yaml"
    path.write_text("layers: 3\nlearning_rate: 5.0e-4\nactivation_checkpointing: true\n")
    found = read([f"--config={path}", "--layers=5"])
    assert (found.layers, found.learning_rate) == (5, 5e-4)
    assert found.activation_checkpointing
    with pytest.raises(SystemExit) as ended:
        read([f"--config={path}", "--heads=7"])
    assert ended.value.code == 2


def test_the_tiny_profile_learns_under_torchrun(starter: Launcher, tmp_path: Path) -> None:
    launcher, script = ABOUT["entry"]
    assert launcher == "torchrun"
    environment = {**identity(tmp_path / "r1"), **static(1, 1, free_port())[0]}
    node = starter.start([str(IMAGE / script), *ABOUT["tiny"]], environment, True)
    assert node.wait() == 0, node.text
    lines = (tmp_path / "r1/progress/job-r1.jsonl").read_text().splitlines()
    losses = [line["loss"] for line in map(json.loads, lines) if line["event"] == "step"]
    # From all 257 bytes alike to letters of English.
    assert losses[0] > 4
    assert losses[-1] < 3.2
    assert json.loads((tmp_path / "r1/COMPLETE.json").read_text())["step"] == 60
