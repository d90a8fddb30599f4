"""`runs JOB`: every run that a job ever had, from the ledger."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.repository import Repository

NAME = "runs"
HELP = "show every run of a job: where, since when, how it ended"
# The ledger also remembers clusters that policy no longer has.
KNOWN_CLUSTER = False


def arguments(parser: argparse.ArgumentParser) -> None:
    """The job, and where the ledger is."""
    parser.add_argument("job", metavar="JOB", help="NAME, TEAM/NAME or a file; it may be gone")
    parser.add_argument("--remote", default="origin", metavar="NAME", help="default: origin")
    parser.add_argument("--branch", metavar="NAME", help="the branch that publish writes")


def run(options: argparse.Namespace, repository: Repository) -> int:
    """Print the runs, the oldest first; 0 also where there is none yet."""
    from compiler.jsontext import json_text
    from compiler.printing import plain_or_json
    from compiler.runs.history import as_json, as_table, chosen, ledgers
    from compiler.runs.planning import Question

    plain_or_json(NAME, options.format)
    books = ledgers(repository, Question(remote=options.remote, branch=options.branch))
    _, ledger = chosen(repository, books, options.job)
    runs = [run for run in ledger.runs if options.cluster in (None, run.cluster)]
    if options.format == "json":
        sys.stdout.write(json_text(as_json(ledger, runs)))
    else:
        sys.stdout.write(as_table(ledger, runs))
    return 0
