"""`explain-job JOB`: each effective value of a job, and the file and line that set it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler.repository import Repository

_LONGEST = 80
NAME = "explain-job"
HELP = "show each effective value of a job, and which file and line set it"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The job."""
    parser.add_argument("job", metavar="JOB", help="NAME, TEAM/NAME or a file")


def run(options: argparse.Namespace, repository: Repository) -> int:
    """Print the values of each of its runs; 1 where there is none."""
    from compiler.explanation import explanation
    from compiler.jsontext import json_text
    from compiler.printing import plain_or_json, print_findings
    from compiler.project import Project
    from compiler.selection import select

    plain_or_json(NAME, options.format)
    project = Project(repository, at=options.at, cluster=options.cluster)
    result = project.judge(select(repository, options.job))
    findings = [*project.policy.findings, *project.base_findings, *result.findings]
    if findings:
        print_findings(findings, options, repository)
    tables: list[dict[str, Any]] = [
        {
            "cluster": made.run.identity.cluster,
            "name": made.run.identity.name,
            "backend": made.site.backend,
            "values": [line.as_dict() for line in explanation(made)],
        }
        for made in result.runs
    ]
    if options.format == "json":
        job = {"version": 1, "team": result.team, "job": result.job, "runs": tables}
        sys.stdout.write(json_text(job))
    else:
        for table in tables:
            _print(table)
    return 0 if result.runs else 1


def _print(table: dict[str, Any]) -> None:
    print(f"{table['name']} on {table['cluster']}, as a {table['backend']}:")
    rows = [(value["field"], _short(value["value"]), value["from"]) for value in table["values"]]
    left = min(max((len(row[0]) for row in rows), default=0), 44)
    middle = min(max((len(row[1]) for row in rows), default=0), 44)
    for name, value, origin in rows:
        print(f"  {name:<{left}}  {value:<{middle}}  {origin}".rstrip())


def _short(text: str) -> str:
    """A value on one line of a terminal."""
    from compiler.terminal import visible

    first, newline, _ = text.partition("\n")
    shown = first if len(first) <= _LONGEST else first[: _LONGEST - 3] + "..."
    return visible(shown) + (" ..." if newline else "")
