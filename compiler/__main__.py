"""`python -m compiler`, and the console script."""

import atexit
import os
import sys

from compiler.cli import main


def run() -> None:
    """Run the command line and end the process with its exit status.

    The memory goes back as a whole: to take a hundred thousand objects apart one by one takes a
    tenth of a second, at the end of each command.
    """
    status = main()
    # What the interpreter would do at its end: the exit functions, then the streams.
    atexit._run_exitfuncs()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            # A reader that has gone; `main` has told whom it concerns.
            status = status or 1
    os._exit(status)


if __name__ == "__main__":
    run()
