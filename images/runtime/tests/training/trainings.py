"""A training of the test program, with its checkpoint folder and all that it put out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from launching import Launcher, Node, elastic, free_port, identity, static

PROGRAM = Path(__file__).parent / "program.py"


@dataclass
class Training:
    """A checkpoint folder, what its runs have put out, and the arguments of the program."""

    launcher: Launcher
    folder: Path
    out: Path
    arguments: tuple[str, ...] = ()

    def nodes(self, *more: str, nodes: int = 2, each: int = 2, number: int = 1) -> list[Node]:
        """Start the run on all its nodes, under torchrun."""
        port = free_port()
        return [
            self.launcher.start(self.argv(more), {**identity(self.folder, number), **found}, True)
            for found in static(nodes, each, port)
        ]

    def alone(self, *more: str, number: int = 1, **variables: str) -> Node:
        """Start the run as one process, without torchrun."""
        environment = {**identity(self.folder, number), **variables}
        return self.launcher.start(self.argv(more), environment, False)

    def worker(self, node: int, port: int, *more: str) -> Node:
        """Start one node of an elastic run of one or two nodes."""
        environment = {**identity(self.folder), **elastic(1, 2, 2, port, node)}
        return self.launcher.start(self.argv(more), environment, True)

    def argv(self, more: tuple[str, ...]) -> list[str]:
        return [str(PROGRAM), "--out", str(self.out), *self.arguments, *more]

    def lines(self, rank: int = 0) -> list[dict[str, object]]:
        """What a process has said of each step that it made, in any run."""
        path = self.out / f"seen-{rank}.jsonl"
        if not path.exists():
            return []
        # The last line of a killed process may be half there.
        return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]

    def made(self, rank: int = 0) -> int:
        """How many steps a process has made, over all its runs."""
        return len(self.lines(rank))

    def order(self, ranks: int = 4) -> dict[int, list[object]]:
        """The samples of each step, process by process; those that counted in the end."""
        found: dict[int, list[object]] = {}
        for rank in range(ranks):
            last = {int(str(line["step"])): line["samples"] for line in self.lines(rank)}
            for step, samples in last.items():
                found.setdefault(step, []).append(samples)
        return found

    def losses(self, rank: int = 0) -> dict[int, float]:
        """The loss of each step in one process; those that counted in the end."""
        return {int(str(line["step"])): float(str(line["loss"])) for line in self.lines(rank)}

    def events(self, kind: str) -> list[dict[str, object]]:
        """Lines of progress of one kind, of all runs."""
        found: list[dict[str, object]] = []
        for path in sorted((self.folder / "progress").glob("*.jsonl")):
            found += [json.loads(line) for line in path.read_text().splitlines()]
        return [event for event in found if event["event"] == kind]

    def saved(self) -> list[str]:
        """The names of all checkpoints."""
        return sorted(path.name for path in self.folder.glob("step-*"))

    def weights(self) -> dict[str, torch.Tensor]:
        """What was learned."""
        return torch.load(self.out / "weights.pt", weights_only=True)
