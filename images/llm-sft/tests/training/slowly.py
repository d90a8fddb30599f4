"""A script of the image that takes its time over each step, so that it is met in the middle.

slowly.py SCRIPT ARGUMENT…      PAUSE: seconds after each step
"""

from __future__ import annotations

import os
import runpy
import sys
import time
from collections.abc import Iterator
from pathlib import Path

# Where the program itself would be found.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from finetuning import training
from finetuning.task import Batch
from torch import Tensor


class Slow(training.Training):
    def _step(self, batches: Iterator[Batch], weight: int) -> tuple[Tensor, int]:
        made = super()._step(batches, weight)
        time.sleep(float(os.environ["PAUSE"]))
        return made


training.Training = Slow  # type: ignore[misc]
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
