"""`publish`: bring `overlays/` up to what the declarations say, in a commit of its own."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.repository import Repository

from compiler.verbs.plan import number

NAME = "publish"
HELP = "write the overlays and the ledger of a commit, and push them"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The source, the branch that is written, and what is known of clusters."""
    parser.add_argument("--source", metavar="REF", help="the commit; default: the remote's tip")
    parser.add_argument("--remote", default="origin", metavar="NAME", help="default: origin")
    parser.add_argument("--branch", metavar="NAME", help="the branch that is written")
    parser.add_argument(
        "--new-branch", action="store_true", help="begin the branch, where there is none yet"
    )
    parser.add_argument("--no-push", action="store_true", help="make the commit, push nothing")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done")
    parser.add_argument(
        "--observed", action="append", default=[], metavar="FILE", help="what `archive` printed"
    )
    parser.add_argument("--allow-stops", type=number, metavar="N", help="let N runs be stopped")
    parser.add_argument(
        "--reset-cluster", action="append", default=[], metavar="C", help="all runs on C are lost"
    )


def run(options: argparse.Namespace, repository: Repository) -> int:
    """Publish and say what was done; 1 for blocked jobs and where the stop guard withholds."""
    from datetime import UTC, datetime

    from compiler.jsontext import json_text
    from compiler.printing import plain_or_json
    from compiler.runs.archive import read_observation
    from compiler.runs.publishing import Request, publish
    from compiler.runs.reporting import Report, as_json, as_text

    plain_or_json(NAME, options.format)
    request = Request(
        source=options.source,
        remote=options.remote,
        branch=options.branch,
        new_branch=options.new_branch,
        push=not options.no_push,
        dry_run=options.dry_run,
        observations=tuple(read_observation(name) for name in options.observed),
        allow_stops=options.allow_stops,
        reset=frozenset(options.reset_cluster),
    )
    at = options.at or datetime.now(UTC)
    done = publish(repository, request, at)
    assert done.account is not None
    report = Report(done.account, done.source, done.published, at)
    if options.format == "json":
        answer = {**as_json(report), "commit": done.commit}
        sys.stdout.write(json_text(answer))
    else:
        sys.stdout.write(as_text(report))
        written = done.commit or "nothing to write"
        said = "nothing was written (--dry-run)" if options.dry_run else written
        sys.stdout.write(f"\npublish: {said}\n")
    guard = done.account.guard
    return 1 if done.blocked or (guard is not None and guard.withheld) else 0
