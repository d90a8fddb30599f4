"""`check [PATH...]`: what is wrong in the declarations and in the policy around them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.repository import Repository

NAME = "check"
HELP = "check all declarations and policy files, or those under PATH"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The files and folders to report on."""
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="report only on these files or folders"
    )


def run(options: argparse.Namespace, repository: Repository) -> int:
    """Print what is wrong; 1 with errors, under `--strict` with warnings too, else 0."""
    from compiler.check import check_again
    from compiler.printing import print_checked
    from compiler.selection import existing, readable
    from compiler.terminal import visible

    paths = [existing(repository, word) for word in options.paths] or None
    for word, path in zip(options.paths, paths or (), strict=True):
        readable(repository, word, path)
    checked = check_again(repository, options.at, options.cluster, paths)
    if checked.skipped:
        said = f"the history of overlays/ is not checked: {checked.skipped}"
        print(f"notice: {visible(said)}", file=sys.stderr)
    return print_checked(checked, options, repository)
