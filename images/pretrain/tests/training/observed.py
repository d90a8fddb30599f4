"""train.py, which takes its time and writes down what each process was given in each step."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

# Where the program itself would be found.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import train
from pretraining import training
from torch import Tensor

if __name__ == "__main__":
    train.end_if_complete()

Batches = Iterator[tuple[Tensor, Tensor]]


class Observed(training.Training):
    def step(self, batches: Batches) -> tuple[Tensor, int]:
        given: list[list[int]] = []

        def watched() -> Batches:
            for inputs, targets in batches:
                given.extend(inputs.tolist())
                yield inputs, targets

        loss, tokens = super().step(watched())
        world = self.session.world
        folder = Path(os.environ["SEEN"])
        folder.mkdir(parents=True, exist_ok=True)
        line = {"step": self.session.step, "world": world.size, "inputs": given}
        with (folder / f"{world.rank}.jsonl").open("a") as file:
            file.write(json.dumps({**line, "loss": loss.item()}) + "\n")
        time.sleep(float(os.environ["PAUSE"]))
        return loss, tokens


training.Training = Observed  # type: ignore[misc]
train.main()
