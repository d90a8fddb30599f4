"""`init DIR`: a new configuration repository, with one small working example of everything."""

from __future__ import annotations

import argparse

NAME = "init"
HELP = "make a new configuration repository, ready to be checked"
NEEDS_REPOSITORY = False


def arguments(parser: argparse.ArgumentParser) -> None:
    """The folder, and what is to be in it."""
    parser.add_argument("folder", metavar="DIR", help="a folder that is new or empty")
    parser.add_argument(
        "--host",
        choices=["github", "gitlab"],
        default="github",
        help="whose pipelines are written; default: github",
    )
    parser.add_argument(
        "--compiler",
        metavar="REQUIREMENT",
        help="how pip gets the compiler, such as `runwright @ git+https://...@COMMIT`; "
        "default: this version of runwright",
    )


def run(options: argparse.Namespace, repository: None) -> int:
    """Write the files; raises CompilerError for a folder in which something is already."""
    from pathlib import Path

    import compiler
    from compiler.diagnostics import CompilerError
    from compiler.replacement import replace_file
    from compiler.starter import files

    folder = Path(options.folder)
    wished: str | None = options.compiler
    pinned = f"runwright=={compiler.__version__}" if wished is None else wished
    if not pinned.strip() or not pinned.isprintable():
        raise CompilerError("--compiler takes one line, as in a requirements file")
    if folder.exists() and not folder.is_dir():
        raise CompilerError(f"{folder} is no folder", "name a new one")
    # A clone of an empty repository has nothing else in it.
    there = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    if [name for name in there if name != ".git"]:
        raise CompilerError(f"{folder} is not empty: it has {there[0]}", "name a new folder")
    for name, content in files(options.host, pinned).items():
        replace_file(folder / name, content)
    print(f"wrote {folder}; next: read README.md there, then `git init`, and `check`")
    return 0
