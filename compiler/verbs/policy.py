"""`policy test`: whether policy says of small jobs what it is meant to say."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from compiler.repository import Repository

NAME = "policy"
HELP = "run the tests of policy, which are small jobs and what is to be found about them"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What to do, and with which tests."""
    parser.add_argument("action", choices=["test"], help="run the tests under policy/tests/")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="only these files and folders")


def run(options: argparse.Namespace, repository: Repository) -> int:
    """Print which tests fail, and why; 1 where one does, else 0.

    Raises CompilerError for a path that holds no test.
    """
    import sys

    from compiler.jsontext import json_text
    from compiler.policytests import FOLDER, outcomes, policy_tests
    from compiler.printing import plain_or_json, print_findings
    from compiler.project import Project
    from compiler.testreport import as_json, as_text

    plain_or_json(NAME, options.format)
    paths = _chosen(repository, options.paths, policy_tests(repository))
    project = Project(repository, at=options.at, cluster=options.cluster)
    if not paths:
        print(f"there are no tests under {FOLDER}/", file=sys.stderr)
    broken = [*project.policy.findings, *project.base_findings]
    if broken:
        # With half of the policy, whatever comes of a test would be misleading.
        print_findings(broken, options, repository, 0)
        return 1
    made = list(outcomes(project, paths))
    if options.format == "json":
        sys.stdout.write(json_text(as_json(made)))
    else:
        sys.stdout.write(as_text(made))
    return 0 if all(outcome.passed for outcome in made) else 1


def _chosen(repository: Repository, words: list[str], files: list[Path]) -> list[Path]:
    from compiler.diagnostics import CompilerError
    from compiler.selection import existing
    from compiler.terminal import visible

    if not words:
        return files
    wanted: list[Path] = []
    for word in words:
        path = existing(repository, word).resolve()
        inside = [file for file in files if file.resolve().is_relative_to(path)]
        if not inside:
            raise CompilerError(
                f"{visible(word)} holds no test of policy", "tests are policy/tests/*.yaml"
            )
        wanted += inside
    return list(dict.fromkeys(wanted))
