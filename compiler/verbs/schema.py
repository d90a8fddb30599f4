"""`schema`: writes the JSON Schemas of declarations, policy and machine output."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from compiler.repository import Repository

NAME = "schema"
HELP = "write schemas/*.schema.json from the models"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Write (the default), compare, or print one."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--check", action="store_true", help="write nothing; fail where a file is out of date"
    )
    group.add_argument("--stdout", metavar="NAME", help="print one schema, such as job")


def run(options: argparse.Namespace, repository: Repository) -> int:
    """Write or compare the files; with --stdout print one of them.

    Raises CompilerError for a schema that does not exist.
    """
    import sys

    from compiler.diagnostics import CompilerError
    from compiler.schemas import schemas, text
    from compiler.suggestions import any_of

    made = {name: text(schema) for name, schema in schemas().items()}
    if options.stdout is not None:
        if options.stdout not in made:
            message = f"there is no schema `{options.stdout}`"
            raise CompilerError(message, any_of(list(made)))
        sys.stdout.write(made[options.stdout])
        return 0
    folder = repository.root / "schemas"
    files = {folder / f"{name}.schema.json": content for name, content in made.items()}
    stale = [path for path, content in files.items() if _differs(path, content)]
    # A schema without a model would go on telling editors what no longer holds.
    extra = [path for path in sorted(folder.glob("*.schema.json")) if path not in files]
    if options.check:
        for path in (*stale, *extra):
            print(f"{repository.relative(path)} is out of date", file=sys.stderr)
        if stale or extra:
            print("  help: run `runwright schema` and commit what it writes", file=sys.stderr)
        return 1 if stale or extra else 0
    folder.mkdir(exist_ok=True)
    for path in stale:
        path.write_bytes(files[path].encode())
        print(repository.relative(path))
    for path in extra:
        path.unlink()
        print(f"{repository.relative(path)} removed")
    return 0


def _differs(path: Path, content: str) -> bool:
    try:
        return path.read_bytes() != content.encode()
    except FileNotFoundError:
        return True
