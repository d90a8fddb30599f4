"""Ends whatever a rehearsal has started, also when the rehearsal itself was killed.

Run as a program with the rehearsal's folder: it waits until its standard input ends, which happens
when the rehearsal does, in whatever way; then it ends all processes that belong to the folder, and
removes it. It imports the standard library alone, for it is started without this package.

A process belongs to a folder if its environment names it, if it works in it, or if it is a child of
one that does: torchrun gives each of its processes a session of its own, so groups do not tell.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

# Seconds for processes to be gone after SIGKILL; what waits for a disk may take longer.
PATIENCE = 10.0


def belonging(folder: str) -> set[int]:
    """The processes that belong to a folder; never this one, nor those that it descends from."""
    if Path("/proc/self").is_dir():
        named, parents = _of_proc(folder)
    else:
        named, parents = _of_ps(folder)
    found = set(named)
    grown = True
    while grown:
        below = {pid for pid, parent in parents.items() if parent in found} - found
        found |= below
        grown = bool(below)
    own = os.getpid()
    while own in parents and own:
        found.discard(own)
        own = parents[own]
    return found


def kill(folder: str) -> bool:
    """End all processes of a folder with SIGKILL; whether none is left."""
    until = time.monotonic() + PATIENCE
    while found := belonging(folder):
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def _of_proc(folder: str) -> tuple[set[int], dict[int, int]]:
    mark = folder.encode()
    named: set[int] = set()
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        pid = int(entry.name)
        try:
            # The name of the program, in brackets, may hold anything.
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            if fields[0] in (b"Z", b"X"):
                continue
            parents[pid] = int(fields[1])
            place = os.fsencode((entry / "cwd").readlink())
            if _names((entry / "environ").read_bytes(), mark) or _names(place, mark):
                named.add(pid)
        except (OSError, IndexError, ValueError):
            # It has ended, or is another user's.
            continue
    return named, parents


def _names(text: bytes, mark: bytes) -> bool:
    """Whether a text names the folder itself or something in it, not a longer name."""
    at = text.find(mark)
    while at >= 0:
        if text[at + len(mark) : at + len(mark) + 1] in (b"", b"/", b"\0", b":"):
            return True
        at = text.find(mark, at + 1)
    return False


def _of_ps(folder: str) -> tuple[set[int], dict[int, int]]:
    """The same where there is no /proc: ps tells the environment of one's own processes."""
    said = subprocess.run(
        ["ps", "-A", "-E", "-ww", "-o", "pid=,ppid=,command="],
        capture_output=True,
        check=False,
    ).stdout
    named: set[int] = set()
    parents: dict[int, int] = {}
    for line in said.splitlines():
        fields = line.split(None, 2)
        if len(fields) == 3 and fields[0].isdigit() and fields[1].isdigit():
            parents[int(fields[0])] = int(fields[1])
            if _names(fields[2].replace(b" ", b"\0"), folder.encode()):
                named.add(int(fields[0]))
    return named, parents


def main() -> None:
    """Wait for the end of the rehearsal, then clean up after it."""
    folder = sys.argv[1]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while os.read(0, 4096):
        pass
    kill(folder)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
