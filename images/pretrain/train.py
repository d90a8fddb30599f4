"""Pre-training of a GPT in plain PyTorch, on any number of processes.

It saves, goes on exactly where it stopped, stops in time and ends at once when it is complete: all
that is runwright_runtime's doing.
"""

from __future__ import annotations

import sys

from runwright_runtime import RunFailure, end_if_complete

if __name__ == "__main__":
    # Before anything is imported that takes seconds: a finished training costs none.
    end_if_complete()

from arguments import read


def main(words: list[str] | None = None) -> None:
    """Train as the command line says."""
    try:
        args = read(sys.argv[1:] if words is None else words)
    except RunFailure as failure:
        print(f"runwright: {failure}", file=sys.stderr)
        sys.exit(failure.status)
    from pretraining.training import train

    train(args)


if __name__ == "__main__":
    main()
