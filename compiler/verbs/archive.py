"""`archive`: what ended on a cluster, how, and what it used."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.repository import Repository

NAME = "archive"
HELP = "say what ended on a cluster, from what kubectl prints; `publish --observed` takes it"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Where to read, and where to write."""
    parser.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        help="what `kubectl get -o json` prints; - is stdin",
    )
    parser.add_argument("-o", dest="output", metavar="FILE", help="default: standard output")
    parser.add_argument(
        "--partial", action="store_true", help="FILE does not list every training object"
    )


def run(options: argparse.Namespace, repository: Repository) -> int:
    """Print the observation, or write it to a file; the repository is not touched.

    Raises CompilerError where no cluster is named, or where the input is not kubectl's.
    """
    import sys
    from datetime import UTC, datetime
    from pathlib import Path

    from compiler.diagnostics import CompilerError
    from compiler.jsontext import json_text
    from compiler.replacement import replace_file
    from compiler.runs.archive import documents, observed, read_text
    from compiler.suggestions import any_of, choose

    policy = repository.policy()
    if options.cluster is None:
        raise CompilerError(
            "which cluster?", any_of(sorted(policy.clusters), start="add --cluster with")
        )
    broken = policy.unreadable("clusters", options.cluster)
    if options.cluster not in policy.clusters and not broken:
        raise CompilerError(
            f"there is no cluster `{options.cluster}`", choose(options.cluster, policy.clusters)
        )
    if options.source is None:
        raise CompilerError(
            "a live cluster cannot be read by this version",
            "pipe `kubectl get pytorchjobs,jobs,workloads,pods -A -o json` into `archive --from -`",
        )
    found = observed(
        documents(read_text(options.source)),
        options.cluster,
        options.at or datetime.now(UTC),
        partial=options.partial,
    )
    text = json_text(found)
    if options.output in (None, "-"):
        sys.stdout.write(text)
    else:
        replace_file(Path(options.output), text.encode())
    return 0
