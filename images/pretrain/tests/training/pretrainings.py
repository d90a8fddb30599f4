"""Trainings of the image, with their checkpoint folder and all that they were given."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
import torch.distributed.checkpoint as dcp
import yaml
from launching import RUNTIME, Launcher, Node, elastic, free_port, identity, static
from torch import Tensor

IMAGE = Path(__file__).resolve().parents[2]
ABOUT = yaml.safe_load((IMAGE / "image.yaml").read_text())
OBSERVED = Path(__file__).with_name("observed.py")
LENGTH = 16
TOKENS = 16 * 90 + 7
SMALL = (
    "--vocabulary=64", "--layers=2", "--width=16", "--heads=2", f"--sequence-length={LENGTH}",
    "--global-batch=8", "--micro-batch=2", "--steps=24", "--warmup-steps=4", "--workers=0",
    "--learning-rate=0.01", "--precision=fp32", "--save-every=4", "--log-every=2",
)  # fmt: skip


def _arguments() -> ModuleType:
    """The image's module `arguments`: other images have one of that name."""
    spec = importlib.util.spec_from_file_location("pretrain_arguments", IMAGE / "arguments.py")
    assert spec is not None
    assert spec.loader is not None
    made = sys.modules["pretrain_arguments"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


read = _arguments().read


def arguments(*more: str) -> Any:
    """The arguments of a small training, with some of them others."""
    return read([*SMALL, *more])


def shards(folder: Path) -> Path:
    """A folder of three shards with 64 kinds of tokens."""
    from pack import pack

    class Letters:
        name = "letters"
        vocabulary = 64
        end = 63

        def encode(self, text: str) -> np.ndarray:
            return np.random.default_rng(int(text)).integers(0, 63, TOKENS - 1)

    pack(["5"], Letters(), folder, 600)
    return folder


def tokens(folder: Path) -> np.ndarray:
    """All tokens of a folder of shards, as plain reading of its files gives them."""
    return np.concatenate([np.fromfile(path, "<u2") for path in sorted(folder.glob("*.bin"))])


@dataclass
class Pretraining:
    """A checkpoint folder, and what the processes of its runs were given."""

    launcher: Launcher
    folder: Path
    data: Path
    more: tuple[str, ...] = ()

    def environment(self, pause: float, number: int = 1) -> dict[str, str]:
        return {
            **identity(self.folder, number),
            "PYTHONPATH": f"{RUNTIME}:{IMAGE}",
            "SEEN": str(self.folder.with_name(f"{self.folder.name}-seen")),
            "PAUSE": str(pause),
        }

    def argv(self, more: tuple[str, ...]) -> list[str]:
        return [str(OBSERVED), f"--data={self.data}", *SMALL, *self.more, *more]

    def nodes(self, *more: str, pause: float = 0, nodes: int = 2, each: int = 2) -> list[Node]:
        """Start the run on all its nodes, under torchrun."""
        return [
            self.launcher.start(self.argv(more), {**self.environment(pause), **found}, True)
            for found in static(nodes, each, free_port())
        ]

    def alone(self, *more: str, pause: float = 0, number: int = 1) -> Node:
        """Start the run as one process, without torchrun."""
        return self.launcher.start(self.argv(more), self.environment(pause, number), False)

    def worker(self, node: int, port: int, *more: str, pause: float = 0) -> Node:
        """Start one node of an elastic run of one or two nodes."""
        environment = {**self.environment(pause), **elastic(1, 2, 2, port, node)}
        return self.launcher.start(self.argv(more), environment, True)

    def lines(self, rank: int = 0) -> list[dict[str, Any]]:
        """What a process was given in each step that it made, in any run."""
        path = Path(self.environment(0)["SEEN"]) / f"{rank}.jsonl"
        if not path.exists():
            return []
        # The last line of a killed process may be half there.
        return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]

    def steps(self) -> dict[int, list[dict[str, Any]]]:
        """What all processes were given in each step, the last time that it was made."""
        found: dict[int, dict[int, dict[str, Any]]] = {}
        for rank in range(4):
            for line in self.lines(rank):
                found.setdefault(line["step"], {})[rank] = line
        return {
            step: [lines[rank] for rank in range(lines[0]["world"])]
            for step, lines in sorted(found.items())
        }

    def order(self) -> dict[int, list[list[int]]]:
        """The sequences of each step, in their order over all processes."""
        return {
            step: [row for line in lines for row in line["inputs"]]
            for step, lines in self.steps().items()
        }

    def losses(self) -> dict[int, float]:
        """The loss of each step."""
        return {
            step: sum(line["loss"] for line in lines) / len(lines)
            for step, lines in self.steps().items()
        }

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Lines of progress of one kind, of all runs."""
        found: list[dict[str, Any]] = []
        for path in sorted((self.folder / "progress").glob("*.jsonl")):
            found += [
                json.loads(line) for line in path.read_text().splitlines() if line[-1:] == "}"
            ]
        return [event for event in found if event["event"] == kind]

    def weights(self, step: int) -> dict[str, Tensor]:
        """The tensors of a checkpoint, whole, by name: model and optimizer."""
        reader = dcp.FileSystemReader(self.folder / f"step-{step:09d}")
        found: dict[str, Any] = {
            name: torch.empty(about.size, dtype=about.properties.dtype)
            for name, about in reader.read_metadata().state_dict_metadata.items()
            if hasattr(about, "size")
        }
        dcp.load(found, storage_reader=reader, no_dist=True)
        return found
