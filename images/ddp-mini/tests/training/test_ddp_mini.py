"""ddp-mini as its image.yaml starts it, and what it says of data that it cannot learn."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from launching import RUNTIME, Launcher, Node, identity, until

IMAGE = Path(__file__).resolve().parents[2]
ABOUT = yaml.safe_load((IMAGE / "image.yaml").read_text())
TINY = ABOUT["tiny"]


def events(folder: Path, kind: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for path in sorted((folder / "progress").glob("*.jsonl")):
        found += [json.loads(line) for line in path.read_text().splitlines()]
    return [event for event in found if event["event"] == kind]


def alone(launcher: Launcher, folder: Path | None, *arguments: str) -> Node:
    """Start it as one process."""
    return launcher.start(
        [str(IMAGE / "train.py"), *TINY, *arguments],
        {**identity(folder), "PYTHONPATH": f"{RUNTIME}:{IMAGE}"},
        False,
    )


def test_the_tiny_profile_learns_under_torchrun_and_is_not_trained_twice(tmp_path: Path) -> None:
    # A batch Job has these two variables, and no operator.
    environment = {
        **os.environ,
        **identity(tmp_path / "r1", PET_NPROC_PER_NODE="2", PET_NNODES="1"),
        "PYTHONPATH": str(RUNTIME),
        "OMP_NUM_THREADS": "1",
    }
    launcher, *rest = ABOUT["entry"]
    command = [str(Path(sys.executable).with_name(launcher)), *rest, *TINY]

    def start() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=IMAGE, env=environment, text=True, capture_output=True, check=False
        )

    first = start()
    assert first.returncode == 0, first.stderr
    (evaluated,) = events(tmp_path / "r1", "evaluated")
    assert float(str(evaluated["accuracy"])) > 0.9
    losses = [float(str(line["loss"])) for line in events(tmp_path / "r1", "step")]
    assert losses[-1] < losses[0] / 2
    assert all("flops_per_s" in line for line in events(tmp_path / "r1", "step"))
    done = json.loads((tmp_path / "r1" / "COMPLETE.json").read_text())
    assert done["step"] == 4 * 512 // 64
    again = start()
    assert again.returncode == 0
    assert again.stderr.count("complete since job-r1 at step 32; nothing to do") == 2
    assert len(events(tmp_path / "r1", "begun")) == 1


def test_it_goes_on_to_the_same_weights(launcher: Launcher, tmp_path: Path) -> None:
    long = ("--epochs", "400", "--log-every", "20")
    node = alone(launcher, tmp_path / "a", *long)
    until(lambda: events(tmp_path / "a", "step"), node)
    node.signal(signal.SIGTERM)
    assert node.wait() == 128 + signal.SIGTERM
    (stopped,) = events(tmp_path / "a", "stopped")
    steps = int(str(stopped["step"])) + 16
    # As many steps as whole epochs give, past the one where it was stopped.
    epochs = str(-(-steps // 8))
    assert alone(launcher, tmp_path / "a", "--epochs", epochs).wait() == 0
    assert [event["step"] for event in events(tmp_path / "a", "resumed")] == [stopped["step"]]
    assert alone(launcher, tmp_path / "b", "--epochs", epochs).wait() == 0
    last = f"step-{8 * int(epochs):09d}"
    tensors = [(tmp_path / run / last / "__0_0.distcp").read_bytes() for run in ("a", "b")]
    assert tensors[0] == tensors[1]


@pytest.mark.parametrize(
    ("features", "labels", "said"),
    [
        (
            np.array([[0.0, 1.0], [np.nan, 1.0], [np.inf, 0.0]], dtype=np.float32),
            np.array([0, 1, 1]),
            "row 1 of {folder}/features.npy is no finite numbers",
        ),
        (
            np.zeros((3, 2), dtype=np.float32),
            np.array([0, 1]),
            (
                "features have the shape (3, 2) and labels (2,): they should be (rows, inputs) "
                "and (rows,)"
            ),
        ),
        (
            np.zeros((2, 2), dtype=np.float32),
            np.array([0.5, 1.0]),
            "labels must be whole numbers from 0",
        ),
        (np.zeros((0, 2), dtype=np.float32), np.zeros(0, dtype=int), "the dataset has no rows"),
    ],
)
def test_data_that_cannot_be_learned_are_refused(
    features: np.ndarray, labels: np.ndarray, said: str, tmp_path: Path
) -> None:
    from dataset import from_files
    from runwright_runtime import Unusable

    np.save(tmp_path / "features.npy", features)
    np.save(tmp_path / "labels.npy", labels)
    with pytest.raises(Unusable) as failure:
        from_files(tmp_path)
    assert str(failure.value) == said.format(folder=tmp_path)


def test_data_from_files_are_learned_and_missing_ones_refused_before_the_first_step(
    launcher: Launcher, tmp_path: Path
) -> None:
    rows = np.random.default_rng(1).normal(size=(200, 5)).astype(np.float32)
    np.save(tmp_path / "features.npy", rows)
    missing = alone(launcher, tmp_path / "r1", "--data", str(tmp_path))
    assert missing.wait() == 78
    assert f"runwright: cannot read {tmp_path}/labels.npy: " in missing.text
    assert "Traceback" not in missing.text
    assert not events(tmp_path / "r1", "step")
    np.save(tmp_path / "labels.npy", (rows[:, 0] > 0).astype(np.int64))
    node = alone(launcher, tmp_path / "r1", "--data", str(tmp_path), "--epochs", "40")
    assert node.wait() == 0, node.text
    (evaluated,) = events(tmp_path / "r1", "evaluated")
    assert float(str(evaluated["accuracy"])) > 0.9
