"""The learning rate of each step: a function of its number, so that there is no state to keep."""

from __future__ import annotations

import math


def rate(kind: str, step: int, total: int, warmup: float) -> float:
    """The rate of a step (from 0) of `total`, as a share of the highest.

    It rises evenly in the first `warmup` of all steps, and is highest in the first step after
    them. Then it falls to zero, which it would reach in the step after the last.
    """
    rising = round(warmup * total)
    if step < rising:
        return (step + 1) / (rising + 1)
    if kind == "constant":
        return 1.0
    done = (step - rising) / max(1, total - rising)
    return 1 - done if kind == "linear" else (1 + math.cos(math.pi * done)) / 2
