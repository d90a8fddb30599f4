"""`plan`: what a change would start, resume, stop and hold, before it is merged."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.repository import Repository

NAME = "plan"
HELP = "say what the change at hand starts and stops, and what a revert would"


def number(text: str) -> int:
    """A count of runs. Raises argparse.ArgumentTypeError."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"`{text}` is no number of runs")
    return int(text)


def arguments(parser: argparse.ArgumentParser) -> None:
    """What is compared with what."""
    parser.add_argument(
        "--base",
        metavar="REF",
        help="what to compare with; default: the remote's default branch, as last fetched",
    )
    parser.add_argument("--head", metavar="REF", help="the change; default: the files as they are")
    parser.add_argument(
        "--revert",
        nargs="+",
        action="extend",
        default=[],
        metavar="SHA",
        help="instead: what reverting these commits, or ranges A..B, on top of the base would do",
    )
    parser.add_argument("--remote", default="origin", metavar="NAME", help="default: origin")
    parser.add_argument("--branch", metavar="NAME", help="the branch that publish writes")
    parser.add_argument("--allow-stops", type=number, metavar="N", help="as publish would be given")
    parser.add_argument("--diff", action="store_true", help="show the rendered difference too")
    parser.add_argument(
        "--markdown", action="store_true", help="print one comment for a pull request"
    )


def run(options: argparse.Namespace, repository: Repository) -> int:
    """Print the plan; 1 where the change blocks a job or wakes the stop guard, else 0."""
    from datetime import UTC, datetime

    from compiler.diagnostics import CompilerError
    from compiler.jsontext import json_text
    from compiler.printing import plain_or_json
    from compiler.runs.markdown import as_markdown
    from compiler.runs.planning import Question, plan
    from compiler.runs.reporting import as_json, as_text

    plain_or_json(NAME, options.format)
    if options.revert and options.head:
        raise CompilerError("--revert and --head are two questions", "ask one of them")
    question = Question(
        base=options.base,
        head=options.head,
        revert=tuple(options.revert),
        remote=options.remote,
        branch=options.branch,
        allow_stops=options.allow_stops,
        diff=options.diff or options.markdown,
    )
    planned = plan(repository, question, options.at or datetime.now(UTC))
    if options.markdown:
        sys.stdout.write(as_markdown(planned.report))
    elif options.format == "json":
        sys.stdout.write(json_text(as_json(planned.report)))
    else:
        sys.stdout.write(as_text(planned.report))
    return 1 if planned.refused else 0
