"""Writes images/<name>/args.schema.json from the model `Arguments` in images/<name>/arguments.py.

With `--check` it only says which are out of date. Each model is loaded by a process of its own: two
images may have modules of one name. Run by `make docs` and `make lint`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRINTS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from arguments import Arguments
schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
schema |= Arguments.model_json_schema(by_alias=True)
print(json.dumps(schema, indent=2, ensure_ascii=False))
"""


def schema(folder: Path) -> str:
    """The schema of an image's arguments, as its file holds it."""
    command = [sys.executable, "-B", "-c", PRINTS, str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder)
    return done.stdout


def main(words: list[str]) -> int:
    stale: list[Path] = []
    for model in sorted(ROOT.glob("images/*/arguments.py")):
        path = model.with_name("args.schema.json")
        wanted = schema(model.parent)
        if not path.is_file() or path.read_text("utf-8") != wanted:
            stale.append(path)
            if "--check" not in words:
                path.write_text(wanted, encoding="utf-8", newline="\n")
    if "--check" not in words:
        return 0
    for path in stale:
        print(f"{path.relative_to(ROOT).as_posix()} is out of date", file=sys.stderr)
    if stale:
        print("  help: run `make docs` and commit what it writes", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
