"""What can be wrong with a run, its processes or its checkpoint folder.

RunFailure
├── MissingVariable   the environment does not say which run this is
├── Unwritable        the folder cannot be written, or has no room
├── Damaged           a file in it is not what the protocol puts there
├── Superseded        a run of a higher number owns it
├── WrongWorld        the processes are not those that the run should have
├── ArgumentsChanged  a checkpoint was made with other arguments
├── Incompatible      a checkpoint does not fit the model or the data
└── Unusable          what the program was given cannot be trained on
"""

from __future__ import annotations


class RunFailure(Exception):
    """Something a person has to look at; `status` is the exit code that the guard has for it."""

    status = 78
    everywhere = False
    """Whether all processes know of it."""


class MissingVariable(RunFailure):
    """A variable of the run's identity is missing, or holds what it cannot."""


class Unwritable(RunFailure):
    """The checkpoint folder, or a file in it, cannot be written."""


class Damaged(RunFailure):
    """A file of the checkpoint folder is there and does not say what it must."""


class Superseded(RunFailure):
    """A run of a higher number owns the folder: this one writes no more."""

    status = 77


class WrongWorld(RunFailure):
    """There are more or fewer processes than the run has, or they cannot share its work."""


class ArgumentsChanged(RunFailure):
    """The arguments differ from those that the checkpoint was made with."""


class Incompatible(RunFailure):
    """The checkpoint is whole, and of another model, optimizer or dataset."""


class Unusable(RunFailure):
    """Data or arguments that no step can be made with."""
