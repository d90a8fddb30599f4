"""`fix [PATH...]`: write what can only have been meant."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.repository import Repository

NAME = "fix"
HELP = "mend what can be mended in just one way; the job stays the same"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The files, and whether to write them."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders; default: all")
    parser.add_argument("--dry-run", action="store_true", help="say what would be written")


def run(options: argparse.Namespace, repository: Repository) -> int:
    """Mend the files; 1 where errors are left."""
    from compiler.mending import mend
    from compiler.project import Project
    from compiler.replacement import replace_file
    from compiler.selection import authored

    project = Project(repository, at=options.at, cluster=options.cluster)
    left = 0
    for path in authored(repository, options.paths):
        mended = mend(project, path)
        for item in mended.applied:
            verb = "would write" if options.dry_run else "wrote"
            where = f"{item.place.path}:{item.place.line}:{item.place.column}"
            print(f"{where}: {verb} {item.edits[0].text} ({item.rule})")
        if mended.applied and not options.dry_run:
            replace_file(path, mended.content)
        left += mended.left
    if left:
        print(f"{left} {'finding is' if left == 1 else 'findings are'} left for you: run `check`")
    return 1 if left else 0
