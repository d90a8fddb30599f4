"""A row of tokens cut into sequences, none of which shares a target with another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import torch
from runwright_runtime import ArgumentsChanged, Incompatible, Unusable
from torch import Tensor

from pretraining.gpt import IGNORED
from pretraining.shards import Tokens


class Sequences(torch.utils.data.Dataset[tuple[Tensor, Tensor]]):
    """Inputs and targets, `length` of each; a target is the token after its input.

    Every token but the first of the row is a target once. The last sequence is filled up with
    targets that do not count. Raises Unusable for a row too short for any target.
    """

    def __init__(self, tokens: Tokens, length: int) -> None:
        if tokens.count < 2:
            raise Unusable(f"the data have {tokens.count} tokens, of which none can be foretold")
        self.tokens = tokens
        self.length = length

    def __len__(self) -> int:
        return (self.tokens.count + self.length - 2) // self.length

    def weight(self, indices: Iterable[int]) -> int:
        """How many targets of these sequences count."""
        targets = self.tokens.count - 1
        return sum(min(self.length, targets - index * self.length) for index in indices)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        begin = index * self.length
        end = min(begin + self.length + 1, self.tokens.count)
        read = self.tokens.read(begin, end).astype(np.int64)
        inputs = np.zeros(self.length, dtype=np.int64)
        targets = np.full(self.length, IGNORED, dtype=np.int64)
        inputs[: len(read) - 1] = read[:-1]
        targets[: len(read) - 1] = read[1:]
        return torch.from_numpy(inputs), torch.from_numpy(targets)


class Unchanged:
    """What must be the same when a training goes on, beside its arguments: tokens and batch."""

    def __init__(self, fingerprint: str, batch: int, world: int) -> None:
        self.fingerprint = fingerprint
        self.batch = batch
        self.world = world

    def state_dict(self) -> dict[str, object]:
        """What a checkpoint keeps."""
        return {"fingerprint": self.fingerprint, "batch": self.batch}

    def load_state_dict(self, state_dict: Mapping[str, object]) -> None:
        """Raise Incompatible or ArgumentsChanged unless they are those of the checkpoint."""
        before = state_dict.get("batch")
        if before != self.batch:
            raise ArgumentsChanged(
                f"a step had {before} sequences, and would have {self.batch} with {self.world} "
                f"processes: give --global-batch={before}"
            )
        if state_dict.get("fingerprint") != self.fingerprint:
            raise Incompatible(
                "the tokens are not those that the checkpoint was made with: give the folder that "
                "it was made with, or train in another folder"
            )
