"""What a training program knows of its run: who it is, whether it is done, whether it may write."""

from runwright_runtime.completion import Completion
from runwright_runtime.failures import Damaged, MissingVariable, RunFailure, Superseded, Unwritable
from runwright_runtime.fence import Fence
from runwright_runtime.files import save
from runwright_runtime.run import Run

__all__ = [
    "Completion",
    "Damaged",
    "Fence",
    "MissingVariable",
    "Run",
    "RunFailure",
    "Superseded",
    "Unwritable",
    "save",
]
