"""`bump JOB`: let a job train once more, or go on from where its last run ended."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.repository import Repository

NAME = "bump"
HELP = "write what lets a job train again: the next `rerun`, or with --resume its last run"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The job, and from where."""
    parser.add_argument("job", metavar="JOB", help="NAME, TEAM/NAME or a file")
    parser.add_argument(
        "--resume", action="store_true", help="go on from the checkpoints of the last run"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be written")


def run(options: argparse.Namespace, repository: Repository) -> int:
    """Write it into the declaration; raises CompilerError where nothing would come of it."""
    from codecs import BOM_UTF8

    from compiler.project import Project
    from compiler.replacement import replace_file
    from compiler.runs.bumping import bump, ledger_of
    from compiler.runs.git import Git
    from compiler.selection import select

    path = select(repository, options.job)
    git = Git(repository.root)
    project = Project(repository, at=options.at)
    result = project.judge(path)
    ledger = ledger_of(git, repository.settings.get("publish", {}).get("branch"), result)
    made = bump(project, result, ledger, options.cluster, resume=options.resume)
    if not options.dry_run:
        mark = BOM_UTF8 if repository.read_bytes(path).startswith(BOM_UTF8) else b""
        replace_file(path, mark + made.text.encode())
    did = "would write" if options.dry_run else "wrote"
    field = "checkpoint.from" if options.resume else "rerun"
    for cluster, value in made.written.items():
        print(f"{result.path}: {did} {field} {value} for {cluster}")
    for note in made.notes:
        print(f"note: {note}", file=sys.stderr)
    return 0
