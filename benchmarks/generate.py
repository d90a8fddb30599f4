"""Write a repository of many varied, valid declarations, the same ones for the same seed.

    python benchmarks/generate.py FOLDER COUNT [--seed SEED]

`policy/`, `images/`, `base/` and `configs/` are those of this repository, with every team four
times over and room for all runs. The shapes of the jobs and their features come in the proportions
that a few hundred public PyTorchJobs show: many on one node, many on a few, some elastic, a few of
everything else.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.shapes import SHAPES, Job  # noqa: E402

CLONES = 4
ROOM = 9_000_000
# A cap of nodes per run stays as it is: the declarations keep within it.
_WIDE_CLUSTER = ((r"(?m)^(\s+nodes): \d+$", rf"\1: {ROOM}"),)
_RICH_TEAM = (
    (r"\b(guaranteed): \d+", rf"\1: {ROOM // 20}"),
    (r"(?m)^(\s+runs): \d+$", rf"\1: {ROOM}"),
    (r"(?m)^(budget): \d+$", rf"\1: {ROOM}"),
)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("folder", type=Path)
    words.add_argument("count", type=int)
    words.add_argument("--seed", type=int, default=1)
    options = words.parse_args()
    write(options.folder, options.count, options.seed)


def write(folder: Path, count: int, seed: int = 1) -> list[Path]:
    """The paths of the declarations written into a new folder."""
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text("[tool.compiler]\nexample = true\n")
    for name in ("policy", "images", "base", "configs"):
        shutil.copytree(ROOT / name, folder / name)
    # They are about jobs of the example repository, which this one has not.
    for name in ("waivers", "stops", "tests", "adopted"):
        shutil.rmtree(folder / "policy" / name, ignore_errors=True)
    # The generated jobs give it arguments of larger programs.
    about = folder / "images" / "ddp-mini" / "image.yaml"
    about.write_text(re.sub(r"(?m)^args_schema: .*\n", "", about.read_text()))
    _change(folder / "policy" / "clusters", _WIDE_CLUSTER)
    _change(folder / "policy" / "teams", _RICH_TEAM)
    teams: dict[str, list[str]] = {}
    for path in sorted((folder / "policy" / "teams").glob("*.yaml")):
        teams[path.stem] = [path.stem]
        for clone in range(2, CLONES + 1):
            name = f"{path.stem}-{clone}"
            text = path.read_text().replace(f"namespace: p-{path.stem}", f"namespace: p-{name}")
            path.with_name(f"{name}.yaml").write_text(text)
            teams[path.stem].append(name)
    chance = random.Random(seed)
    shapes = [shape for shape, weight in SHAPES for _ in range(weight)]
    paths: list[Path] = []
    for number in range(count):
        job = Job(chance, number)
        shape = chance.choice(shapes)
        lines = shape(job)
        name = f"{job.stem}-{number:05d}"
        path = folder / "jobs" / chance.choice(teams[job.team]) / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(job.head() + lines + job.tail()) + "\n")
        paths.append(path)
    return paths


def _change(folder: Path, changes: tuple[tuple[str, str], ...]) -> None:
    for path in folder.glob("*.yaml"):
        text = path.read_text()
        for pattern, replacement in changes:
            text, count = re.subn(pattern, replacement, text)
            assert count, f"{path} has nothing that matches {pattern}"
        path.write_text(text)


if __name__ == "__main__":
    main()
