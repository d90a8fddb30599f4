"""Runs the tests on a control plane with several sets of versions; run by `make e2e-matrix`.

    matrix.py [SET…]      SET: supported (what `make e2e` runs), newest, oldest

What was seen of each set is written into `docs/tested-with.md`; the sections of sets that are not
named stay as they are. Ends 1 where a test fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import install

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/tested-with.md"
# Of each set: what it is, and what is to be built for it beside `make e2e-tools`.
SETS = {
    "supported": ("What `make e2e` and CI run.", ()),
    "newest": ("The newest Kubernetes.", ("control-plane-newest",)),
    "oldest": (
        "The oldest supported kustomize, also as Argo CD's; Flux has its own built in.",
        ("kustomize-oldest",),
    ),
}
HEAD = """\
# Tested with

What the tests on a control plane ([tests/controlplane](../tests/controlplane)) were seen to do with
which versions. `make e2e-matrix` runs them and writes this page; a section is of one run. No
container runs there: the test kubelet runs the commands of pods as processes, and kwok takes the
large counts. Redis is Debian's.
"""


def section(name: str, record: dict[str, Any], seconds: float, at: datetime) -> str:
    """The Markdown section of a set's run."""
    lines = [f"## {name}", "", SETS[name][0], "", "| program | version |", "|---|---|"]
    lines += [f"| {tool} | {number} |" for tool, number in record["versions"].items()]
    lines += ["", "| tests | passed | failed | left out |", "|---|---|---|---|"]
    total = dict.fromkeys(("passed", "failed", "skipped"), 0)
    for file, counts in sorted(record["files"].items()):
        numbers = [counts.get(outcome, 0) for outcome in total]
        total = {outcome: total[outcome] + counts.get(outcome, 0) for outcome in total}
        lines.append(f"| {file} | " + " | ".join(map(str, numbers)) + " |")
    lines.append("| all | " + " | ".join(map(str, total.values())) + " |")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    lines += ["", f"{at:%Y-%m-%d}, {seconds / 60:.0f} minutes on {cores} cores.", ""]
    return "\n".join(lines)


def written(page: str, name: str, text: str) -> str:
    """The page with the section of a set, in the order of the sets."""
    found = {
        match[1]: match[0].rstrip("\n") + "\n"
        for match in re.finditer(r"^## (\w+)\n.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    }
    found[name] = text
    return "\n".join([HEAD, *(found[each] for each in SETS if each in found)])


def run(name: str, more: list[str]) -> bool:
    """Run the tests with a set and write down what was seen; whether all passed."""
    print(f"matrix: {name}", flush=True)
    started, at = time.monotonic(), datetime.now(UTC)
    other = "" if name == "supported" else name
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "record.json")
        command = [sys.executable, "-m", "pytest", "tests/controlplane", "-n", "3"]
        command += [f"--record={file}", *more]
        environment = {**os.environ, "RUNWRIGHT_E2E_VERSIONS": other}
        if name == "oldest":
            environment["KUSTOMIZE"] = str(install.target("kustomize-oldest"))
        status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        if not file.exists():
            return False
        record = json.loads(file.read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    text = section(name, record, time.monotonic() - started, at)
    PAGE.write_text(written(page, name, text), encoding="utf-8")
    return status == 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Test against several sets of versions.")
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(SETS))
    arguments, more = parser.parse_known_args()
    unknown = [name for name in arguments.sets if name not in SETS]
    if unknown:
        parser.error(f"no such set: {', '.join(unknown)}; there are {', '.join(SETS)}")
    chosen = [name for name in SETS if name in (arguments.sets or SETS)]
    tools = [tool for name in chosen for tool in SETS[name][1]]
    if tools:
        subprocess.run([sys.executable, "tools/install.py", *tools], cwd=ROOT, check=True)
    results = [run(name, more) for name in chosen]
    return 0 if all(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
