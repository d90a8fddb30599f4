"""The verbs of the command line, one module each; `compiler.cli` finds them by a walk.

A verb has `NAME`, `HELP`, `arguments(parser)` and `run(options, repository) -> int`, which returns
the exit status. One that works without a repository says `NEEDS_REPOSITORY = False` and gets None.
All verbs are imported for `--help`, so whatever is slow to import belongs inside `run`.
"""
