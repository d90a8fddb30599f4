"""Writes `tools/<part>/go.mod` and `go.sum` anew, for a new version of the part's main module.

    modules.py PART VERSION      modules.py kubernetes v1.34.4

A module that is built as a dependency loses the `replace` and `godebug` lines of its own go.mod,
and some do not build, or run otherwise, without them. So these are read from the module's go.mod
and repeated in ours, a path into Kubernetes' staging folder as the module published from it.
Go chooses the other versions by its usual rules and writes their digests down.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from install import ROOT, TOOLS


def go(*arguments: str, at: Path) -> str:
    """What a Go command prints; the run ends with Go's own words where it fails."""
    done = subprocess.run(
        ["go", *arguments],
        cwd=at,
        env={**os.environ, "GOWORK": "off"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"modules: go {' '.join(arguments)} failed; see above")
    return done.stdout


def repeated(declared: dict[str, Any], version: str) -> str:
    """The blocks of a module's go.mod that ours must repeat.

    Args:
        declared: The module's go.mod as `go mod edit -json` prints it.
        version: The module's version; Kubernetes publishes its staging folders as v0 of it.
    """
    settings = [f"{key['Key']}={key['Value']}" for key in declared.get("GoDebug") or []]
    replacements: list[str] = []
    for replace in declared.get("Replace") or []:
        old, new = replace["Old"], replace["New"]
        if "Version" in new:
            replacements.append(f"{old['Path']} => {new['Path']} {new['Version']}")
        elif new["Path"].startswith("./staging/"):
            published = "v0." + version.removeprefix("v1.")
            replacements.append(f"{old['Path']} => {old['Path']} {published}")
    return "".join(
        f"{word} (\n" + "".join(f"\t{line}\n" for line in lines) + ")\n\n"
        for word, lines in (("godebug", settings), ("replace", replacements))
        if lines
    )


def pin(part: str, version: str) -> None:
    packages = sorted({tool.package for tool in TOOLS.values() if tool.part == part})
    named = next(tool.module for tool in TOOLS.values() if tool.part == part)
    folder = ROOT / "tools" / part
    with tempfile.TemporaryDirectory(dir=ROOT / "tools", prefix=".") as scratch:
        at = Path(scratch)
        (at / "go.mod").write_text(f"module runwright/tools/{part}\n", encoding="utf-8")
        answer = json.loads(go("mod", "download", "-json", f"{named}@{version}", at=at))
        declared = json.loads(go("mod", "edit", "-json", answer["GoMod"], at=at))
        (at / "go.mod").write_text(
            f"module runwright/tools/{part}\n\ngo {declared['Go']}\n\n"
            f"{repeated(declared, version)}require {named} {version}\n",
            encoding="utf-8",
        )
        go("get", "-tool", *(f"{package}@{version}" for package in packages), at=at)
        go("mod", "edit", "-fmt", at=at)
        folder.mkdir(exist_ok=True)
        for name in ("go.mod", "go.sum"):
            (at / name).replace(folder / name)


def main() -> int:
    parser = argparse.ArgumentParser(description="Pin a tool's module and all that it needs.")
    parser.add_argument("part", choices=sorted({tool.part for tool in TOOLS.values()}))
    parser.add_argument("version")
    arguments = parser.parse_args()
    pin(arguments.part, arguments.version)
    return 0


if __name__ == "__main__":
    sys.exit(main())
