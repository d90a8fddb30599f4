"""How much of the accelerators' arithmetic a training uses: model FLOPs utilization, MFU.

    MFU = tokens/s × FLOPs per token ÷ (accelerators × peak FLOPs of one)

What the model needs counts, not what is computed again by activation checkpointing (Chowdhery et
al., "PaLM", 2022, appendix B).
"""

from __future__ import annotations

import re

PEAK: dict[str, float] = {
    "B200": 2250e12,
    "GH200": 989e12,
    "H200": 989e12,
    "H100 PCIe": 756e12,
    "H100 NVL": 835e12,
    "H100": 989e12,
    "A100": 312e12,
    "L40S": 362e12,
    "L4": 121e12,
    "A10": 125e12,
    "MI300X": 1307e12,
    "MI250": 181e12,
}
"""Dense bfloat16 FLOPs per second by a part of the device's name, as the vendors' data sheets give
them (without sparsity; MI250: of one of its two halves, which are devices of their own)."""


def transformer(
    parameters: int, layers: int = 0, heads: int = 0, head_size: int = 0, sequence: int = 0
) -> float:
    """FLOPs for one token of training, forward and backward: 6 N + 12 L H Q T.

    6 for each parameter, and the attention over a sequence of T tokens in L layers with H heads of
    size Q. For adapters, where most parameters are frozen, give 4 N for N frozen parameters by
    hand: their weights get no gradient.
    """
    return 6.0 * parameters + 12.0 * layers * heads * head_size * sequence


def peak(device: str) -> float | None:
    """Peak dense bfloat16 FLOPs per second of a device by its name; None if it is not known."""
    words = set(re.findall(r"[A-Za-z0-9]+", device))
    found = [name for name in PEAK if words.issuperset(name.split())]
    return PEAK[max(found, key=len)] if found else None
