"""What training code and a run agree on.

Importing this package takes the standard library only; the modules that need torch are imported by
their names: `session`, `state`, `checkpoints`, `distributed`, `randomness`.
"""

from runwright_runtime.completion import Completion
from runwright_runtime.failures import (
    ArgumentsChanged,
    Damaged,
    Incompatible,
    MissingVariable,
    RunFailure,
    Superseded,
    Unusable,
    Unwritable,
    WrongWorld,
)
from runwright_runtime.fence import Fence
from runwright_runtime.files import save
from runwright_runtime.run import Run, end_if_complete

__all__ = [
    "ArgumentsChanged",
    "Completion",
    "Damaged",
    "Fence",
    "Incompatible",
    "MissingVariable",
    "Run",
    "RunFailure",
    "Superseded",
    "Unusable",
    "Unwritable",
    "WrongWorld",
    "end_if_complete",
    "save",
]
