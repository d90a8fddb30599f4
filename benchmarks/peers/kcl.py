"""Run the KCL program over a repository: kcl.py ROOT OUTPUT, in a fresh Python.

KCL opens files below its program alone, so the program lies in the repository while it runs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kcl_lib import api

PROGRAM = ("job.k", "main.k")


def main() -> None:
    root, output = sys.argv[1:]
    arguments = api.ExecProgramArgs(
        work_dir=root,
        k_filename_list=[f"{root}/{name}" for name in PROGRAM],
        args=[api.Argument(name="root", value=json.dumps(root))],
    )
    result = api.API().exec_program(arguments)
    if result.err_message:
        raise SystemExit(result.err_message)
    Path(output).write_text(result.yaml_result, encoding="utf-8")


if __name__ == "__main__":
    main()
