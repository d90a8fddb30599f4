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
    parser.add_argument(
        "--actor",
        metavar="LOGIN",
        help="say which declarations spend what this person does not own",
    )
    parser.add_argument(
        "--base", metavar="REF", help="with --actor: only declarations that differ from this commit"
    )


def run(options: argparse.Namespace, repository: Repository) -> int:
    """Print what is wrong; 1 with errors, under `--strict` with warnings too, else 0."""
    from compiler.check import check_again
    from compiler.diagnostics import CompilerError, arrange
    from compiler.printing import print_checked
    from compiler.selection import existing, readable
    from compiler.terminal import visible

    paths = [existing(repository, word) for word in options.paths] or None
    for word, path in zip(options.paths, paths or (), strict=True):
        readable(repository, word, path)
    if options.base is not None and options.actor is None:
        raise CompilerError("--base goes with --actor", "name the author, or leave it out")
    checked = check_again(repository, options.at, options.cluster, paths)
    if options.actor is not None:
        from compiler.authorship import spending

        actor, base, whole = options.actor, options.base, paths is None
        more = spending(repository, checked.jobs, actor, base, whole=whole)
        checked.findings = arrange([*checked.findings, *more])
    if checked.skipped:
        said = f"the history of overlays/ is not checked: {checked.skipped}"
        print(f"notice: {visible(said)}", file=sys.stderr)
    return print_checked(checked, options, repository)
