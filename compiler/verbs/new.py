"""`new JOB`: a declaration to begin with."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.repository import Repository

NAME = "new"
HELP = "write a declaration to begin with, jobs/<team>/<job>.yaml"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The job, and what is known about it."""
    parser.add_argument("job", metavar="JOB", help="NAME or TEAM/NAME")
    parser.add_argument("--team", metavar="TEAM", help="the team that owns the job")
    parser.add_argument("--image", metavar="IMAGE", help="a folder of images/, or a full reference")
    parser.add_argument("--accelerators", metavar="NAME:COUNT", help="per node, such as H100:8")
    parser.add_argument("--num-nodes", type=int, default=1, metavar="N", help="number of nodes")
    parser.add_argument("--dry-run", action="store_true", help="print the text and write nothing")


def run(options: argparse.Namespace, repository: Repository) -> int:
    """Write the file; 1 where it has errors. Raises CompilerError where it cannot be."""
    from compiler.diagnostics import CompilerError
    from compiler.printing import print_findings
    from compiler.project import Project
    from compiler.replacement import replace_file
    from compiler.scaffold import Wish, scaffold
    from compiler.selection import named

    team, slash, name = options.job.rpartition("/")
    if slash and options.team not in (None, team):
        raise CompilerError(f"{options.job} says team {team}, --team says {options.team}")
    if options.num_nodes < 1:
        raise CompilerError("a job has one node or more")
    project = Project(repository, at=options.at, cluster=options.cluster)
    wish = Wish(
        name,
        team or options.team,
        options.image,
        options.accelerators,
        options.num_nodes,
        options.cluster,
    )
    shown, text = scaffold(wish, project.policy)
    path = repository.root / shown
    taken = named(repository, f"{path.parent.name}/{name}")
    if taken or path.exists():
        there = repository.relative(taken[0]) if taken else shown
        raise CompilerError(f"{there} is there already", "edit it, or choose another name")
    result = project.judge(path, text.encode())
    if options.dry_run:
        print(text, end="")
    else:
        replace_file(path, text.encode())
        print(f"wrote {shown}; next: edit it, then run `check {shown}`")
    if result.findings:
        print_findings(result.findings, options, repository)
    return 0 if result.usable else 1
