"""`check [PATH...]`: what is wrong in the declarations and in the policy around them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.repository import Repository

NAME = "check"
HELP = "check all declarations and policy files, or those under PATH"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="report only on these files or folders")


def run(options: argparse.Namespace, repository: Repository) -> int:
    from compiler.check import check_again
    from compiler.diagnostics import CompilerError
    from compiler.printing import print_checked

    paths: list[Path] | None = None
    if options.paths:
        paths = []
        for word in options.paths:
            path = next((p for p in (Path.cwd() / word, repository.root / word) if p.exists()), None)
            if path is None:
                raise CompilerError(f"there is no file or folder {word}")
            if not path.resolve().is_relative_to(repository.root.resolve()):
                raise CompilerError(f"{word} is outside the repository")
            paths.append(path)
    checked = check_again(repository, options.at, options.cluster, paths)
    return print_checked(checked, options, repository)
