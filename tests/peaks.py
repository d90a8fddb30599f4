"""How much memory a process has held at most."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak() -> int:
    """Bytes that this program has held at most.

    Not `ru_maxrss` on Linux: a process inherits there what the one that started it had held
    (fs/exec.c, exec_mmap), which of a worker full of tests may be more than any limit.
    """
    try:
        status = Path("/proc/self/status").read_text("utf-8")
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024
