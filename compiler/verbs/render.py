"""`render JOB`: the objects of a job's run, as a cluster would get them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.repository import Repository

NAME = "render"
HELP = "print the Kubernetes objects of a job's run"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The job and the number of its run."""
    parser.add_argument("job", metavar="JOB", help="NAME, TEAM/NAME or a file")
    parser.add_argument("--number", type=int, default=1, metavar="N", help="the run's number")


def run(options: argparse.Namespace, repository: Repository) -> int:
    """Print the objects; 1 where errors stand against the job."""
    from compiler import yamlout
    from compiler.diagnostics import CompilerError, Severity
    from compiler.jsontext import json_text
    from compiler.printing import plain_or_json, print_findings
    from compiler.project import Project
    from compiler.selection import select

    plain_or_json(NAME, options.format)
    if options.number < 1:
        raise CompilerError(f"a run's number is 1 or more, not {options.number}")
    path = select(repository, options.job)
    project = Project(repository, at=options.at, cluster=options.cluster, number=options.number)
    result = project.judge(path)
    findings = [*project.policy.findings, *project.base_findings, *result.findings]
    if findings:
        print_findings(findings, options, repository)
    if result.runs:
        objects = [thing for made in result.runs for thing in made.objects]
        if options.format == "json":
            sys.stdout.write(json_text(objects))
        else:
            sys.stdout.write(yamlout.dump_all(objects))
    failed = any(item.severity is Severity.ERROR for item in findings)
    return 1 if failed or not result.runs else 0
