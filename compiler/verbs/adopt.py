"""`adopt JOB --from FILE`: take a PyTorchJob that runs already in as the first run of a job."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.repository import Repository

NAME = "adopt"
HELP = "take a PyTorchJob that runs already in as the first run of a job"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The job, and the object."""
    parser.add_argument(
        "job", metavar="JOB", help="NAME, TEAM/NAME or a file: a job that you have declared"
    )
    parser.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        required=True,
        help="what `kubectl get pytorchjob NAME -o json` prints; - is stdin",
    )
    parser.add_argument(
        "--checkpoint-dir", metavar="DIR", help="where it keeps its checkpoints, if it does not say"
    )


def run(options: argparse.Namespace, repository: Repository) -> int:
    """Write `policy/adopted/<team>/<job>.yaml`; raises CompilerError where that cannot be."""
    from compiler.diagnostics import CompilerError
    from compiler.project import Project
    from compiler.replacement import replace_file
    from compiler.runs.adopting import object_in, record
    from compiler.runs.archive import documents, read_text
    from compiler.runs.bumping import ledger_of
    from compiler.runs.git import Git
    from compiler.selection import select

    path = select(repository, options.job)
    project = Project(repository, at=options.at)
    result = project.judge(path)
    branch = repository.settings.get("publish", {}).get("branch")
    if ledger_of(Git(repository.root), branch, result).runs:
        raise CompilerError(
            f"{result.team}/{result.job} has runs already", "only a job without any can adopt one"
        )
    found = object_in(documents(read_text(options.source)))
    made = record(project, result, found, options.cluster, options.checkpoint_dir)
    replace_file(repository.root / made.path, made.text.encode())
    print(f"wrote {made.path}; the next publish takes {made.name} in as r1 of {result.job}")
    for note in made.notes:
        print(f"note: {note}", file=sys.stderr)
    return 0
