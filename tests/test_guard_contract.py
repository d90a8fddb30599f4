"""The guard's script and the package for training programs keep one protocol."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from guarding import LIMIT, SHELLS, Pods, pods, sh, training
from runwright_runtime import Completion, Fence, Run, fence

SOURCE = Path(fence.__file__).parents[1]
# A training program that keeps the protocol: it saves and stops once a successor is there.
NATIVE = """
import os, sys, time
from runwright_runtime import Run, RunFailure
run = Run.from_environment()
def log(line):
    with open(os.environ["LOG"], "a") as file:
        file.write(f"{run.number} {line}\\n")
try:
    if run.complete():
        sys.exit(0)
    with run.fence(grace=int(os.environ.get("GRACE", "30"))) as fence:
        log("began")
        if os.environ.get("STEPS"):
            run.mark_complete(int(os.environ["STEPS"]))
            sys.exit(0)
        while fence.successor() is None:
            time.sleep(0.05)
        log("saves")
        fence.check()
        time.sleep(1)
        log("saved")
        sys.exit(143)
except RunFailure as failure:
    log(type(failure).__name__)
    sys.exit(failure.status)
"""


@pytest.fixture(params=sorted(SHELLS))
def pod(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pods]:
    with pods(request.param, tmp_path) as made:
        yield made


@pytest.fixture
def native(pod: Pods) -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()


def start(pod: Pods, number: int, **variables: str) -> subprocess.Popen[bytes]:
    """A training program without a wrapper, as an image with `guard: native` has it."""
    environment = pod.environment(number, {"PYTHONPATH": str(SOURCE), **variables})
    return subprocess.Popen([sys.executable, "-c", NATIVE], env=environment)


def test_a_wrapped_successor_waits_for_a_native_run(
    pod: Pods, native: list[subprocess.Popen[bytes]]
) -> None:
    native.append(start(pod, 7))
    pod.logged("7 began")
    second = pod.start(training(8), 8, margin=300)
    pod.logged("8 began")
    assert pod.lines == ["7 began", "7 saves", "7 saved", "8 began"]
    assert native[0].wait(LIMIT) == 143
    second.signal(signal.SIGTERM)
    assert second.end()[0] == 143


def test_a_native_successor_waits_for_a_wrapped_run(
    pod: Pods, native: list[subprocess.Popen[bytes]]
) -> None:
    first = pod.start(training(7), 7)
    pod.logged("7 began")
    native.append(start(pod, 8))
    pod.logged("8 began")
    assert pod.lines == ["7 began", "7 saves", "7 saved", "8 began"]
    assert first.end()[0] == 143


def test_a_killed_native_run_is_taken_over_by_a_wrapped_one(
    pod: Pods, native: list[subprocess.Popen[bytes]]
) -> None:
    native.append(start(pod, 7, GRACE="1"))
    pod.logged("7 began")
    native[0].kill()
    native[0].wait(LIMIT)
    assert pod.run(sh("log 8 began"), 8, margin=0)[0] == 0
    assert pod.entry("7.sft-r7-x") == "taken by 8\n"
    frozen = Fence(pod.folder, 7, "sft-r7-x")
    assert not frozen.still_owner()


def test_a_native_run_takes_a_frozen_wrapped_one_over(pod: Pods) -> None:
    first = pod.start(sh("trap 'log deaf' TERM; log began; while :; do sleep 0.1; done"), 7)
    pod.logged("began")
    pod.freeze(first)
    second = Fence(pod.folder, 8, "0")
    second.acquire(timeout=0.1, poll=0.05)
    assert second.still_owner()
    pod.thaw(first)
    assert first.end()[0] == 137
    assert second.still_owner()
    assert not pod.complete.exists()


def test_a_lower_native_number_refuses_after_a_wrapped_one(
    pod: Pods, native: list[subprocess.Popen[bytes]]
) -> None:
    assert pod.run(sh("exit 1"), 8)[0] == 1
    native.append(start(pod, 7))
    assert native[0].wait(LIMIT) == 77
    assert pod.lines == ["7 Superseded"]


def test_a_lower_wrapped_number_refuses_after_a_native_one(pod: Pods) -> None:
    with Fence(pod.folder, 8, "0"):
        pass
    assert pod.run(sh("log began"), 7)[0] == 77
    assert pod.lines == []


def test_what_a_native_run_has_completed_a_wrapped_one_does_not_start(
    pod: Pods, native: list[subprocess.Popen[bytes]]
) -> None:
    native.append(start(pod, 7, STEPS="1200"))
    assert native[0].wait(LIMIT) == 0
    assert json.loads(pod.complete.read_text())["step"] == 1200
    assert pod.run(sh("log 8 began"), 8)[0] == 0
    assert pod.lines == ["7 began"]


def test_what_a_wrapped_run_has_completed_a_native_one_does_not_start(
    pod: Pods, native: list[subprocess.Popen[bytes]]
) -> None:
    assert pod.run(["true"], 7)[0] == 0
    found = Run.from_environment(pod.environment(8, {})).complete()
    assert isinstance(found, Completion)
    assert (found.run, found.step) == ("sft-r7", None)
    assert found.at is not None
    native.append(start(pod, 8))
    assert native[0].wait(LIMIT) == 0
    assert pod.lines == []


@pytest.mark.parametrize("text", ["", "{", "null", '{"at": "2026-01-01T00:00:00Z"'])
def test_both_refuse_a_damaged_marker_alike(
    pod: Pods, native: list[subprocess.Popen[bytes]], text: str
) -> None:
    pod.put("COMPLETE.json", text)
    native.append(start(pod, 8))
    assert native[0].wait(LIMIT) == pod.run(["true"], 8)[0] == 78
    assert pod.lines == ["8 Damaged"]


def test_both_give_a_pod_the_same_entry(pod: Pods) -> None:
    for variables in ({}, {"RANK": "0"}, {"PET_NODE_RANK": "0"}):
        assert pod.run(sh("exit 1"), 8, **variables)[0] == 1
        one = Run.from_environment(pod.environment(8, variables))
        assert (pod.folder / "OWNER" / f"8.{one.fence().pod}").read_text() == "released\n"


def test_both_wait_equally_long() -> None:
    from compiler import guard

    assert f"_margin={fence.MARGIN}\n" in guard.script()
