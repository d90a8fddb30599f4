"""The learning rate at each step, as a share of the highest."""

from __future__ import annotations

from math import cos, pi


def rate(kind: str, step: int, steps: int, warmup: int, floor: float) -> float:
    """The share for step `step` of `steps`, counted from 0.

    It rises evenly for `warmup` steps, and then falls to `floor` at the end: as a half wave
    (cosine), evenly (linear), or not at all (constant).
    """
    if step < warmup:
        return (step + 1) / warmup
    if kind == "constant":
        return 1.0
    done = (step - warmup) / max(1, steps - warmup)
    left = (1 + cos(pi * done)) / 2 if kind == "cosine" else 1 - done
    return floor + (1 - floor) * left
