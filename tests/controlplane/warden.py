"""Kills servers whose test session is gone; started by `processes`, and waits on its input.

Each line of the input is `+PID` for a process group that runs, or `-PID` for one that has ended.
When the input ends, because the session closed it or was itself killed, what still runs is killed.
"""

import os
import signal
import sys


def main() -> None:
    # The terminal's Ctrl-C is for the session, which then closes the input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    running: dict[int, None] = {}
    for line in sys.stdin:
        group = int(line[1:])
        if line[0] == "+":
            running[group] = None
        else:
            running.pop(group, None)
    for group in running:
        try:
            os.killpg(group, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue


if __name__ == "__main__":
    main()
