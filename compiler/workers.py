"""Work shared out among processes that are copies of this one.

Everything that the work needs is read before the copies are made, and nothing but JSON comes back.
This process works along; where there is no `fork`, it works alone.
"""

from __future__ import annotations

import json
import os
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from compiler.diagnostics import Unavailable

T = TypeVar("T")

# As many parts as one byte can number.
_PARTS = 250


def share(items: Sequence[T], work: Callable[[Sequence[T]], Any], processes: int) -> Iterator[Any]:
    """`work` of parts of the items, in the order of the items.

    The parts are given out as the processes ask for them. What `work` returns must be data that
    JSON keeps as it is. Raises Unavailable where a process ends before its work does, and
    RuntimeError with the trace of what it raised.
    """
    size = max(8, -(-len(items) // min(_PARTS, processes * 8)))
    parts = [items[start : start + size] for start in range(0, len(items), size)]
    done: dict[int, Any] = {}
    children: list[tuple[int, int]] = []
    if processes > 1 and len(parts) > 1 and hasattr(os, "fork"):
        # Whoever reads a byte takes the part of that number, as in the job server of make.
        take, give = os.pipe()
        os.write(give, bytes(range(len(parts))))
        os.close(give)
        children = [_child(take, parts, work) for _ in range(processes - 1)]
        try:
            for number in _taken(take):
                done[number] = work(parts[number])
            while children:
                done |= _answer(*children.pop(0))
        finally:
            os.close(take)
            for pid, answer in children:
                _end(pid, answer)
        yield from (done[number] for number in range(len(parts)))
        return
    for part in parts:
        yield work(part)


def cores() -> int:
    """The processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def _taken(take: int) -> Iterator[int]:
    while token := os.read(take, 1):
        yield token[0]


def _child(
    take: int, parts: Sequence[Sequence[T]], work: Callable[[Sequence[T]], Any]
) -> tuple[int, int]:
    """A copy of this process at work: its number, and where its answer can be read."""
    answer, tell = os.pipe()
    pid = os.fork()
    if pid:
        os.close(tell)
        return pid, answer
    try:
        try:
            text = json.dumps([[number, work(parts[number])] for number in _taken(take)])
        except BaseException:  # noqa: BLE001 - whatever it is, the other side raises it
            text = json.dumps(traceback.format_exc())
        with os.fdopen(tell, "wb") as stream:
            stream.write(text.encode())
    finally:
        # Neither the parent's clean-up nor its buffered output is this copy's business.
        os._exit(0)


def _answer(pid: int, answer: int) -> dict[int, Any]:
    with os.fdopen(answer, "rb") as stream:
        text = stream.read()
    _, status = os.waitpid(pid, 0)
    try:
        result = json.loads(text)
    except ValueError:
        raise Unavailable(
            f"a process that shared the work ended early (status {status})",
            "there may be too little memory; try again with fewer processes",
        ) from None
    if isinstance(result, str):
        raise RuntimeError(result)
    return dict(result)


def _end(pid: int, answer: int) -> None:
    """Nobody waits for this copy any more."""
    os.close(answer)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
