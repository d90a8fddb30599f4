"""`fmt [PATH...]`: lay out declarations and policy files the same everywhere."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.repository import Repository

NAME = "fmt"
HELP = "lay out declarations and policy files; comments, quotes and order stay"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The files, and whether to write them."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders; default: all")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if a file would change"
    )


def run(options: argparse.Namespace, repository: Repository) -> int:
    """Lay the files out; 1 where one cannot be read, with `--check` also where one would change."""
    from compiler.formatting import formatted
    from compiler.replacement import replace_file
    from compiler.selection import authored
    from compiler.source import decode
    from compiler.tree import read

    changed = unread = 0
    for path in authored(repository, options.paths):
        shown = repository.relative(path)
        source, _ = decode(shown, repository.read_bytes(path))
        text = formatted(source) if source is not None else None
        if text is None:
            why = "a comment or a text would change"
            if source is None or read(source)[1]:
                why = "it cannot be read; run `check` to see what is wrong with it"
                unread += 1
            print(f"{shown}: left as it is; {why}", file=sys.stderr)
            continue
        if text.encode() == path.read_bytes():
            continue
        changed += 1
        print(f"{shown}: {'would be laid out anew' if options.check else 'laid out anew'}")
        if not options.check:
            replace_file(path, text.encode())
    return 1 if unread or (options.check and changed) else 0
