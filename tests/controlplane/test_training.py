"""Rendered jobs really train under the real operator: to the end, through losses, and to a stop."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from controlplane.api import kind_of
from controlplane.kubelet.images import ENVIRONMENT
from controlplane.laboratory import LIMIT, Laboratory, job
from controlplane.stack import Stack
from controlplane.test_environment import table

pytestmark = pytest.mark.skipif(
    not ENVIRONMENT.is_dir(), reason="no .venv-images (make images-setup)"
)

# What `--no-python` lets torchrun start: each process tells what it was given.
TELL = 'mkdir -p "$CHECKPOINT_DIR" && env > "$CHECKPOINT_DIR/process-$RANK"\n'
# A program whose last checkpoint takes a while, and that says so in the log.
SAVING = '''\
"""Saves when it is told to stop, as slowly as its argument says."""

import os
import signal
import sys
import time
from pathlib import Path

folder = Path(os.environ["CHECKPOINT_DIR"])
folder.mkdir(parents=True, exist_ok=True)


def stop(number, frame):
    print("saving", flush=True)
    until = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < until:
        time.sleep(0.05)
    (folder / ("saved-" + os.environ["RANK"])).write_text("all of it")
    print("saved", flush=True)
    sys.exit(143)


signal.signal(signal.SIGTERM, stop)
print("training", flush=True)
while True:
    time.sleep(0.05)
'''


def saving(seconds: float, grace: str, **fields: object) -> str:
    return job(
        num_nodes=2,
        command=["torchrun", "/etc/saving/saving.py", str(seconds)],
        files={"/etc/saving/saving.py": "configs/lab/saving.py"},
        stop={"grace": grace},
        **fields,
    )


MINI = {"samples": 512, "epochs": 60, "batch": 64, "width": 32, "lr": 0.01}
JOBS = {
    "mini": job(
        num_nodes=2,
        args={**MINI, "epochs": 300},
        checkpoint={"claim": "checkpoints", "path": "/ckpt", "every": "1s", "keep": 3},
    ),
    "tuned": job(
        image="llm-sft",
        num_nodes=2,
        args={"trial": True},
        checkpoint={"claim": "checkpoints", "path": "/ckpt", "every": "1s", "keep": 3},
    ),
    "finished": job(num_nodes=2, args=MINI),
    "told": job(
        num_nodes=2,
        accelerators="H100:2",
        command=["torchrun", "--no-python", "sh", "/etc/tell/tell.sh"],
        files={"/etc/tell/tell.sh": "configs/lab/tell.sh"},
    ),
    "wrong": job(command=["false"], retry={"max": 0}),
    "wrong-batch": job(cluster="batch", command=["false"], retry={"max": 0}),
    "wrong-again": job(command=["false"], retry={"max": 1}),
    "saving": saving(4, "30s"),
    "saving-cut": saving(6, "30s", env={"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "2"}),
    "saving-late": saving(60, "3s"),
    "saving-long": saving(60, "100s"),
}
FILES = {"configs/lab/saving.py": SAVING, "configs/lab/tell.sh": TELL}


@pytest.fixture(scope="module")
def laboratory(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    with Laboratory(stack, tmp_path_factory.mktemp("training"), JOBS, FILES) as made:
        yield made


def progress(laboratory: Laboratory, name: str) -> list[dict[str, Any]]:
    """The lines of progress that the training itself writes."""
    path = laboratory.checkpoints(name) / "progress" / f"{name}-r1.jsonl"
    if not path.exists():
        return []
    lines = path.read_text("utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def reached(laboratory: Laboratory, name: str) -> int:
    return max((line.get("step") or 0 for line in progress(laboratory, name)), default=0)


@pytest.mark.parametrize("name", ["mini", "tuned"])
def test_a_training_loses_a_node_goes_on_and_comes_to_its_end(
    name: str, laboratory: Laboratory
) -> None:
    first, other = f"{name}-r1-master-0", f"{name}-r1-worker-0"
    laboratory.start(name)
    laboratory.wrote(first, "saved step")
    before = len(progress(laboratory, name))
    laboratory.kubelet.kill(laboratory.namespace, other)
    done = laboratory.ended(name, "Succeeded")
    assert done["status"]["replicaStatuses"]["Master"]["succeeded"] == 1

    events = progress(laboratory, name)
    kinds = [line["event"] for line in events]
    assert kinds.count("begun") >= 2
    resumed = next(line for line in events[before:] if line["event"] == "resumed")
    assert resumed["step"] > 0
    steps = [line["step"] for line in events if line["event"] == "step"]
    losses = [line["loss"] for line in events if line["event"] == "step"]
    assert losses[-1] < losses[0] / 2
    complete = json.loads((laboratory.checkpoints(name) / "COMPLETE.json").read_text())
    assert (complete["run"], complete["step"]) == (f"{name}-r1", steps[-1])

    log = laboratory.log(first)
    assert "run " + f"{name}-r1, 2 processes" in log
    # The first node hears of the loss of the other, and fails for it.
    lost = log.partition("saved step")[2].lower()
    assert "connection" in lost or "closed" in lost
    pods = {pod["metadata"]["name"]: pod["status"] for pod in laboratory.pods(name)}
    assert pods[first]["containerStatuses"][0]["restartCount"] >= 1
    container = pods[other]["containerStatuses"][0] if other in pods else None
    if container is not None:
        assert container["restartCount"] >= 1


def test_processes_under_torchrun_have_what_is_documented(laboratory: Laboratory) -> None:
    laboratory.start("told")
    laboratory.ended("told", "Succeeded")
    for rank in range(4):
        text = (laboratory.checkpoints("told") / f"process-{rank}").read_text("utf-8")
        seen = dict(line.partition("=")[::2] for line in text.splitlines())
        assert {row[0].strip("`") for row in table("launched")[1:]} <= set(seen)
        wanted = {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank % 2),
            "WORLD_SIZE": "4",
            "LOCAL_WORLD_SIZE": "2",
            "GROUP_RANK": str(rank // 2),
            "GROUP_WORLD_SIZE": "2",
            "ROLE_RANK": str(rank),
            "ROLE_WORLD_SIZE": "4",
            "TORCHELASTIC_RESTART_COUNT": "0",
        }
        assert seen.items() >= wanted.items()


@pytest.mark.parametrize("name", ["wrong", "wrong-batch", "wrong-again"])
def test_a_command_that_fails_fails_the_job(name: str, laboratory: Laboratory) -> None:
    laboratory.start(name)
    laboratory.ended(name, "Failed")


def stopped(laboratory: Laboratory, name: str, seconds: float) -> tuple[str, set[str]]:
    """The first node's log once the job and its pods are gone, and the files that were saved."""
    pods = [f"{name}-r1-master-0", f"{name}-r1-worker-0"]
    laboratory.start(name)
    for pod in pods:
        laboratory.wrote(pod, "training")
    laboratory.delete(name)
    laboratory.api.until(
        lambda: laboratory.pods(name), lambda found: not found, seconds, "end of all pods"
    )
    kind = kind_of(laboratory.job(name))
    assert laboratory.api.find(kind, f"{name}-r1", laboratory.namespace) is None
    saved = {path.name for path in laboratory.checkpoints(name).glob("saved-*")}
    return laboratory.log(pods[0]), saved


def test_a_deleted_job_saves_within_its_grace(laboratory: Laboratory) -> None:
    log, saved = stopped(laboratory, "saving", LIMIT)
    assert log.count("saving") == log.count("saved\n") == 1
    assert saved == {"saved-0", "saved-1"}


def test_torchrun_cuts_a_save_short_without_the_time_that_the_compiler_gives_it(
    laboratory: Laboratory,
) -> None:
    log, saved = stopped(laboratory, "saving-cut", LIMIT)
    assert "saving" in log
    assert saved == set()


def test_a_save_beyond_the_grace_is_killed(laboratory: Laboratory) -> None:
    log, saved = stopped(laboratory, "saving-late", LIMIT)
    assert "saving" in log
    assert saved == set()


@pytest.mark.scale
def test_a_save_of_a_minute_survives_under_torchrun(laboratory: Laboratory) -> None:
    _, saved = stopped(laboratory, "saving-long", LIMIT)
    assert saved == {"saved-0", "saved-1"}


def test_a_finished_training_that_is_created_once_more_trains_nothing(
    laboratory: Laboratory,
) -> None:
    marker = laboratory.checkpoints("finished") / "COMPLETE.json"
    marker.parent.mkdir(parents=True)
    marker.write_text('{"run": "finished-r1", "at": null, "step": 480}', "utf-8")
    laboratory.start("finished")
    laboratory.ended("finished", "Succeeded")
    assert progress(laboratory, "finished") == []
