"""Work shared out among processes: complete, in order, and never a silent loss."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from typing import Any

import pytest

from compiler.diagnostics import Unavailable
from compiler.workers import share


def squares(part: Sequence[int]) -> list[int]:
    return [number * number for number in part]


@pytest.mark.parametrize("processes", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 8, 9, 100, 3001])
def test_the_answers_come_in_the_order_of_the_items(count: int, processes: int) -> None:
    answers = [one for part in share(range(count), squares, processes) for one in part]
    assert answers == [number * number for number in range(count)]


def test_the_work_is_done_by_several_processes() -> None:
    def who(part: Sequence[int]) -> int:
        for _ in part:
            sum(range(20_000))
        return os.getpid()

    workers = set(share(range(400), who, 3))
    assert os.getpid() in workers or len(workers) > 1
    assert len(workers) <= 3


def elsewhere(act: Any) -> Any:
    """Work that does something in the copies alone."""
    here = os.getpid()

    def work(part: Sequence[int]) -> list[int]:
        if os.getpid() != here:
            act()
        while os.getpid() == here and not os.waitid(
            os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT
        ):
            pass  # the copy must have had its turn
        return list(part)

    return work


def test_what_goes_wrong_in_a_copy_is_raised_here() -> None:
    def fail() -> None:
        raise LookupError("in the copy")

    with pytest.raises(RuntimeError, match="LookupError: in the copy"):
        list(share(range(100), elsewhere(fail), 2))


def test_a_copy_that_is_killed_is_no_silent_loss() -> None:
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(Unavailable, match="ended early"):
        list(share(range(100), elsewhere(die), 2))


def test_no_copy_is_left_behind_when_the_work_here_fails() -> None:
    here = os.getpid()

    def work(part: Sequence[int]) -> list[int]:
        if os.getpid() == here:
            raise LookupError("here")
        time.sleep(0.2)  # so that some of the work is left for the process here
        return list(part)

    with pytest.raises(LookupError, match="here"):
        list(share(range(3000), work, 3))
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
