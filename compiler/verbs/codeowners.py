"""`codeowners`: writes who approves what, from policy."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.repository import Repository

NAME = "codeowners"
HELP = "write CODEOWNERS from policy"


def arguments(parser: argparse.ArgumentParser) -> None:
    """For which host, and whether to write."""
    parser.add_argument(
        "--host",
        choices=["github", "gitlab"],
        help="default: that of the file which is there, else github",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail where the file is out of date"
    )


def run(options: argparse.Namespace, repository: Repository) -> int:
    """Write or compare the file.

    Raises CompilerError where policy cannot be read, or names nobody for what is no team's: with
    such a file anybody could approve a change of policy.
    """
    import sys

    from compiler.codeowners import PLACES, is_readable, platform_owners, text
    from compiler.diagnostics import CompilerError
    from compiler.replacement import replace_file

    policy = repository.policy()
    if not is_readable(policy):
        path = min(path for path in policy.broken if path.startswith("policy/"))
        raise CompilerError(f"{path} cannot be read", "run `runwright check` and mend it first")
    if not platform_owners(policy):
        raise CompilerError(
            "nobody owns policy/, base/ and overlays/",
            "name `owners` in policy/rules.yaml, such as owners: [example-org/platform]",
        )
    there = [host for host, place in PLACES.items() if (repository.root / place).is_file()]
    hosts = [options.host] if options.host is not None else there or ["github"]
    stale = 0
    for host in hosts:
        path, wanted = repository.root / PLACES[host], text(policy, host).encode()
        if path.is_file() and path.read_bytes() == wanted:
            continue
        stale += 1
        if options.check:
            print(f"{PLACES[host]} is out of date", file=sys.stderr)
            print("  help: run `runwright codeowners` and commit what it writes", file=sys.stderr)
        else:
            replace_file(path, wanted)
            print(PLACES[host])
    return 1 if options.check and stale else 0
