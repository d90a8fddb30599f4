"""Measure `check` and `build` beside their floor, and print the ratios.

    make bench ARGS="--rounds 5 --peers --write"

Each round runs every case once, with the floor before it, so that what else the machine does
falls on all of them alike: compare ratios, not seconds. A figure is of a whole process tree, as
the operating system counts it. The floor is libyaml's C compose of every declaration, plus SHA-256
of its bytes, in a fresh Python. With `--peers`, KCL and kubeconform do what they can of the same
work (see `benchmarks/peers/`); they are built or installed into the cache first.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from benchmarks import generate  # noqa: E402
from benchmarks.measuring import Case, machine, noise, timed  # noqa: E402

FLOOR = """
import hashlib, sys, yaml
from pathlib import Path
from yaml.cyaml import CLoader
for path in sorted(Path(sys.argv[1]).rglob("*.yaml")):
    data = path.read_bytes()
    hashlib.sha256(data).digest()
    yaml.compose(data, Loader=CLoader)
"""
FEW, MANY, SAMPLE = 1_000, 10_000, 60
HISTORY_JOBS = 200
COMPILER = (sys.executable, "-m", "compiler")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument(
        "--few", type=int, default=FEW, help="declarations of the smaller repository"
    )
    words.add_argument("--many", type=int, default=MANY, help="those of the larger one; 0 for none")
    words.add_argument("--no-build", action="store_true", help="leave out what runs kustomize")
    words.add_argument(
        "--history",
        type=int,
        metavar="N",
        help="measure plan and publish over N publishes of 200 jobs instead; with --write into "
        "benchmarks/HISTORY.md",
    )
    words.add_argument("--peers", action="store_true", help="measure other programs as well")
    words.add_argument("--write", action="store_true", help="write benchmarks/RESULTS.md")
    options = words.parse_args()
    with tempfile.TemporaryDirectory(prefix="runwright-bench-") as folder:
        bench = Bench(Path(folder), options)
        bench.run()
        report = bench.report()
    print(report)
    if options.write:
        name = "RESULTS.md" if options.history is None else "HISTORY.md"
        (HERE / name).write_text(report + "\n")


class Bench:
    """All cases over the generated repositories."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder = folder
        self.options = options
        self.cases: list[Case] = []
        if options.history is not None:
            self._of_history(options.history)
            return
        self.few = self._repository(options.few, "few")
        self.floor = Case("floor", self._floor(self.few))
        self._of_check()
        if options.peers:
            self._of_peers()
        if not options.no_build:
            self._of_build()

    def _repository(self, count: int, name: str) -> Path:
        root = self.folder / name
        generate.write(root, count)
        return root

    def _floor(self, root: Path) -> list[str]:
        return [sys.executable, "-c", FLOOR, str(root / "jobs")]

    def _add(
        self, name: str, words: Sequence[str], before: Callable[[], None], **more: int
    ) -> None:
        self.cases.append(Case(name, [*COMPILER, *words], before, **more))

    def _of_check(self) -> None:
        check = ("check", "--repo", str(self.few))
        changed = next(path for path in sorted((self.few / "jobs").rglob("*.yaml")))
        text = changed.read_text()

        def nothing() -> None:
            pass

        def cold() -> None:
            shutil.rmtree(self.few / ".cache", ignore_errors=True)

        def warm() -> None:
            timed([*COMPILER, *check])

        turns = iter(range(1_000_000))

        def one() -> None:
            warm()
            changed.write_text(text + f"# {next(turns)}\n")

        few = f"{self.options.few:,}"
        self._add("start (`--help`)", ["--help"], nothing)
        self._add(f"check {few}, cold", check, cold)
        self._add(f"check {few}, nothing changed", check, warm)
        self._add(f"check {few}, one file changed", check, one)
        if self.options.many:
            many = self._repository(self.options.many, "many")
            words = ("check", "--repo", str(many))
            self._add(
                f"check {self.options.many:,}, cold",
                words,
                lambda: shutil.rmtree(many / ".cache", ignore_errors=True),
                rounds=3,
            )
            timed([*COMPILER, *words])
            for which in ("with", "without"):
                name = f"check {self.options.many:,}, nothing changed, {which} the verdict"
                program = str(HERE / "verdict.py")
                self.cases.append(Case(name, [sys.executable, program, str(many), which]))

    def _of_peers(self) -> None:
        from benchmarks.peers import Peers

        folder = self.folder / "peers"
        folder.mkdir()
        peers = Peers(self.few, folder)
        kcl, kubeconform = self._peers
        self.cases.append(Case(kcl, peers.kcl(), rounds=3))
        self.cases.append(Case(kubeconform, peers.kubeconform(), rounds=3))

    @property
    def _peers(self) -> tuple[str, str]:
        few = f"{self.options.few:,}"
        return f"KCL, one program, {few}", f"kubeconform of what KCL made, {few}"

    def _of_history(self, publishes: int) -> None:
        """Verbs that read the ledgers; each runs without the cache once before it runs with it."""
        from benchmarks import history

        root = history.write(self.folder / "history", HISTORY_JOBS, publishes)
        self.floor = Case("floor", self._floor(root))
        job = min((root / "jobs").rglob("*.yaml")).stem
        verbs = ("plan", "publish --dry-run", f"runs {job}", "check")
        for verb in verbs:
            words = (*verb.split(), "--repo", str(root))
            shown = verb.split()[0]

            def cold() -> None:
                shutil.rmtree(root / ".cache", ignore_errors=True)

            def warm(words: Sequence[str] = words) -> None:
                timed([*COMPILER, *words])

            self._add(f"{shown}, {publishes:,} publishes, no cache", words, cold, rounds=2)
            self._add(f"{shown}, {publishes:,} publishes, again", words, warm)

    def _of_build(self) -> None:
        from compiler.kustomize import find

        kustomize = find(ROOT)
        # The generated repository finds the same one, whatever its own cache holds.
        os.environ["KUSTOMIZE"] = kustomize.command[0]
        output = self.folder / "built"
        build = ("build", "--repo", str(self.few), "-o", str(output))
        job = min((self.few / "jobs").rglob("script-*.yaml"))
        text = job.read_text()

        def cold() -> None:
            shutil.rmtree(self.few / ".cache", ignore_errors=True)
            shutil.rmtree(output, ignore_errors=True)

        turns = iter(range(1_000_000))

        def one() -> None:
            timed([*COMPILER, *build])
            job.write_text(text.replace("--seed ", f"--seed {next(turns)}"))

        few = f"{self.options.few:,}"
        self._add(f"build {few}, cold", build, cold, rounds=3)
        self._add(f"build {few}, one job changed", build, one, rounds=3)
        timed([*COMPILER, *build])
        runs = sorted(path.parent for path in output.glob("overlays/*/*/*/r*/kustomization.yaml"))
        sample = runs[:: max(len(runs) // SAMPLE, 1)][:SAMPLE]
        copy = self.folder / "sample"
        shutil.copytree(output, copy)
        script = "".join(
            f"{kustomize.command[0]} {'kustomize' if len(kustomize.command) > 1 else 'build'} "
            f"{copy / path.relative_to(output)} >/dev/null || exit 1\n"
            for path in sample
        )
        name = f"one kustomize per overlay, in turn ({len(sample)} of {len(runs):,}, scaled)"
        scale = len(runs) / len(sample)
        self.cases.append(Case(name, ["sh", "-c", script], rounds=3, scale=scale))

    def run(self) -> None:
        for turn in range(self.options.rounds):
            for case in self.cases:
                if case.rounds is not None and turn >= case.rounds:
                    continue
                self.floor.run()
                case.run()
                case.ratios.append(case.wall[-1] / self.floor.wall[-1])
                case.cpu_ratios.append(case.cpu[-1] / self.floor.cpu[-1])
                said = f"{case.wall[-1]:.2f} s ({case.ratios[-1]:.1f} × floor), "
                said += f"CPU {case.cpu[-1]:.2f} s ({case.cpu_ratios[-1]:.1f} ×)"
                print(f"round {turn + 1}: {case.name}: {said}", file=sys.stderr, flush=True)

    def report(self) -> str:
        lines = [
            "# How long it takes",
            "",
            'Written by `make bench ARGS="--peers --write"`. Medians over the rounds; × floor is',
            "the median of ratios to the run of the floor right before. CPU is user and system",
            "time of all processes; the peak is that of the largest process.",
            "",
            f"{datetime.now(UTC):%Y-%m-%d}, {machine()}. {noise(self.floor)}",
            "",
            "| case | runs | wall s | × floor | CPU s | CPU × floor | peak MiB |",
            "|---|---|---|---|---|---|---|",
        ]
        for case in (self.floor, *self.cases):
            row = [
                case.name,
                str(len(case.wall)),
                f"{statistics.median(case.wall):.2f}",
                f"{statistics.median(case.ratios or [1]):.1f}",
                f"{statistics.median(case.cpu):.2f}",
                f"{statistics.median(case.cpu_ratios or [1]):.1f}",
                str(case.peak),
            ]
            lines.append(f"| {' | '.join(row)} |")
        goals = self._goals() if self.options.history is None else []
        return "\n".join([*lines, "", *goals]).rstrip()

    def _goals(self) -> list[str]:
        """The goals, each with what this run says of it."""
        found = {case.name: case for case in self.cases}
        few, many = f"{self.options.few:,}", f"{self.options.many:,}"

        def median(name: str, of: str = "wall") -> float:
            return statistics.median(getattr(found[name], of))

        start, cold = "start (`--help`)", f"check {few}, cold"
        warm, one = f"check {few}, nothing changed", f"check {few}, one file changed"
        lines = ["| goal | this run | on processors alone |", "|---|---|---|"]

        def goal(text: str, wall: str, cpu: str = "") -> None:
            lines.append(f"| {text} | {wall} | {cpu} |")

        goal("start under 0.2 s", f"{median(start):.2f} s", f"{median(start, 'cpu'):.2f} s")
        goal(
            "cold at most 6 × the floor",
            f"{median(cold, 'ratios'):.1f} ×",
            f"{median(cold, 'cpu_ratios') / 2:.1f} × (half of all CPU: the least on two)",
        )
        goal(
            "nothing changed: at most 0.5 s above start",
            f"{median(warm) - median(start):.2f} s",
            f"{median(warm, 'cpu') - median(start, 'cpu'):.2f} s",
        )
        goal("one file changed: under 0.7 s", f"{median(one):.2f} s", f"{median(one, 'cpu'):.2f} s")
        if self.options.many:
            large = f"check {many}, cold"
            goal(
                f"{many} at most 11 × {few}",
                f"{median(large) / median(cold):.1f} ×",
                f"{median(large, 'cpu') / median(cold, 'cpu'):.1f} ×",
            )
            names = [
                f"check {many}, nothing changed, {which} the verdict"
                for which in ("with", "without")
            ]
            goal(
                "the verdict adds at most 20 % to a check with nothing changed",
                f"{100 * (median(names[0]) / median(names[1]) - 1):.0f} %",
                f"{100 * (median(names[0], 'cpu') / median(names[1], 'cpu') - 1):.0f} %",
            )
            goal(f"{many} in under 1 GiB", f"{found[large].peak} MiB a process, of 2", "")
        if self.options.peers:
            wall = sum(median(name) for name in self._peers) / median(cold)
            cpu = 2 * sum(median(name, "cpu") for name in self._peers) / median(cold, "cpu")
            goal(
                "cold at least 2 × faster than KCL and kubeconform",
                f"{wall:.1f} ×",
                f"{cpu:.1f} × (half of all CPU of the check)",
            )
        if not self.options.no_build:
            build, changed = f"build {few}, cold", f"build {few}, one job changed"
            loop = next(name for name in found if name.startswith("one kustomize"))
            goal(
                "build at least 3 × faster than one kustomize per overlay",
                f"{median(loop) / median(build):.1f} ×",
                f"{2 * median(loop, 'cpu') / median(build, 'cpu'):.1f} × (half of the build's CPU)",
            )
            goal(
                "build with one job changed: at most 1 s",
                f"{median(changed):.2f} s",
                f"{median(changed, 'cpu'):.2f} s",
            )
        return lines


if __name__ == "__main__":
    main()
