"""What can be wrong between a run and its checkpoint folder.

RunFailure
├── MissingVariable   the environment does not say which run this is
├── Unwritable        the folder cannot be written
├── Damaged           a file in it is not what the protocol puts there
└── Superseded        a run of a higher number owns it
"""

from __future__ import annotations


class RunFailure(Exception):
    """Something a person has to look at; `status` is the exit code that the guard has for it."""

    status = 78


class MissingVariable(RunFailure):
    """A variable of the run's identity is missing, or holds what it cannot."""


class Unwritable(RunFailure):
    """The checkpoint folder, or a file in it, cannot be written."""


class Damaged(RunFailure):
    """COMPLETE.json is there and does not say what it must."""


class Superseded(RunFailure):
    """A run of a higher number owns the folder: this one writes no more."""

    status = 77
