"""One program measured: the seconds and the memory of its whole process tree, and the machine."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Case:
    """Something to measure: what is done before the clock starts, and the words of the program."""

    name: str
    words: Sequence[str]
    before: Callable[[], None] = lambda: None
    rounds: int | None = None
    scale: float = 1.0
    wall: list[float] = field(default_factory=list[float])
    cpu: list[float] = field(default_factory=list[float])
    ratios: list[float] = field(default_factory=list[float])
    cpu_ratios: list[float] = field(default_factory=list[float])
    peak: int = 0

    def run(self) -> None:
        self.before()
        wall, cpu, peak = timed(self.words)
        self.wall.append(wall * self.scale)
        self.cpu.append(cpu * self.scale)
        self.peak = max(self.peak, peak)


def timed(words: Sequence[str]) -> tuple[float, float, int]:
    """Seconds on the wall and on processors of a process and its children; its peak in MiB.

    The peak is that of the largest process.
    """
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(words, cwd=ROOT, env=_usual(), stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            text = output.read()[-2000:].decode(errors="replace")
            raise SystemExit(f"{' '.join(words)} ended with {process.returncode}:\n{text}")
    # Linux counts KiB, macOS bytes.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // unit


def _usual() -> dict[str, str]:
    """The environment; where it forbids to keep what is compiled, each start would compile all."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def machine() -> str:
    """The machine in words."""
    name = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cores} cores of {name}, Python {platform.python_version()} on {platform.system()}"


def noise(floor: Case) -> str:
    """How quiet the machine was."""
    low, high = min(floor.wall), max(floor.wall)
    load = os.getloadavg()[0]
    quiet = (
        "The machine was quiet" if high < 1.5 * low else "The machine was shared with other work"
    )
    return (
        f"{quiet}: over {len(floor.wall)} runs the floor took {low:.2f} to {high:.2f} s "
        f"({min(floor.cpu):.2f} to {max(floor.cpu):.2f} s of CPU); the load is now {load:.1f}."
    )
