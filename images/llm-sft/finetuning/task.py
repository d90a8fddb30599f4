"""What a training works on: samples, batches of them, and what is measured of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

IGNORED = -100
"""The label of a token that is not learned (torch's default for cross_entropy)."""

Batch = dict[str, Tensor]


class Task(Protocol):
    """Samples that are learned from."""

    measured: tuple[str, ...]
    """What `measure` gives; the first is the loss."""
    fingerprint: str
    """Another one if any sample is."""
    attended: float
    """How many tokens a token attends to at most, on average: the length of what it is in."""

    def __len__(self) -> int:
        """How many samples there are."""
        ...

    def weight(self, sample: int) -> int:
        """For how much it counts: its tokens that are learned, or 1."""
        ...

    def batch(self, samples: Sequence[int]) -> Batch:
        """Samples as tensors, with `tokens`: how many there are without padding."""
        ...

    def measure(self, model: nn.Module, batch: Batch) -> list[Tensor]:
        """Sums over the batch, each to be divided by the sum of its weights."""
        ...


def labels_of(tokens: NDArray[np.int32], learned: NDArray[np.bool_]) -> tuple[list[int], list[int]]:
    """Tokens, and for each the one that should follow if that is learned, else IGNORED."""
    ids = tokens.tolist()
    following = [
        token if wanted else IGNORED
        for token, wanted in zip(ids[1:], learned[1:].tolist(), strict=True)
    ]
    return ids, [*following, IGNORED]


def padded(rows: Sequence[Sequence[int]], length: int, value: int) -> Tensor:
    """Rows of one length, filled up behind their ends."""
    return torch.tensor([[*row, *[value] * (length - len(row))] for row in rows])


def rounded(length: int) -> int:
    """The next multiple of 8, so that few shapes come up."""
    return -(-length // 8) * 8
