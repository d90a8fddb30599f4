"""A warm check of a repository, with the verdict over all its runs or without it.

    python benchmarks/verdict.py FOLDER with|without

Both do what `check` does. The difference between the two is what the verdict costs.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def main() -> int:
    folder, which = sys.argv[1:]
    if which == "without":
        import compiler.quota.verdict as verdict

        def nothing(checked: object, *others: object) -> object:
            return checked

        verdict.with_verdict = nothing  # type: ignore[assignment]
    from compiler.cli import main as run

    return run(["check", "--repo", folder])


if __name__ == "__main__":
    raise SystemExit(main())
