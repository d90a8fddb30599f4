"""The model: a decoder with rotary positions, whose embedding is its output as well."""

from __future__ import annotations

from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gelu, linear, scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

IGNORED = -100
"""A target that no loss is taken of: what fills up the last sequence."""
SCALE = 0.02
"""Standard deviation of new weights (Radford et al., GPT-2, 2019)."""
BASE = 10_000.0
"""Of the rotary positions' wavelengths (Su et al., RoFormer, 2021)."""


def rotations(length: int, size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the angles that positions turn by, in fp32: (length, size / 2)."""
    pairs = torch.arange(0, size, 2, device=device, dtype=torch.float32)
    positions = torch.arange(length, device=device, dtype=torch.float32)
    angles = torch.outer(positions, BASE ** (-pairs / size))
    return angles.cos(), angles.sin()


def rotated(vectors: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Vectors (..., length, size) turned by their positions; entry i and i + size / 2 are a pair.

    In fp32 whatever the vectors are: in bf16 far positions would fall together.
    """
    one, other = vectors.float().chunk(2, -1)
    turned = (one * cosines - other * sines, other * cosines + one * sines)
    return torch.cat(turned, -1).type_as(vectors)


class Block(nn.Module):
    """Attention and a multilayer perceptron, each added to what comes in."""

    def __init__(self, width: int, heads: int, recompute: bool) -> None:
        super().__init__()
        self.heads = heads
        self.recompute = recompute
        self.before = nn.RMSNorm(width)
        self.mix = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.between = nn.RMSNorm(width)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
        """The same shape as x: (sequences, length, width)."""
        if self.recompute and torch.is_grad_enabled():
            # Inside of what FSDP puts around a block, which is gathered once for both passes.
            return checkpoint(self._added, x, cosines, sines, use_reentrant=False)
        return self._added(x, cosines, sines)

    def _added(self, x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
        sequences, length, width = x.shape
        parts = self.mix(self.before(x)).view(sequences, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        query, key = rotated(query, cosines, sines), rotated(key, cosines, sines)
        mixed = scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(sequences, length, width))
        return x + self.down(gelu(self.up(self.between(x))))


class GPT(nn.Module):
    """A decoder of `layers` blocks; with `recompute` each computes its activations again."""

    def __init__(
        self, vocabulary: int, layers: int, width: int, heads: int, recompute: bool = False
    ) -> None:
        super().__init__()
        self.heads = heads
        self.embedding = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(width, heads, recompute) for _ in range(layers))
        self.last = nn.RMSNorm(width)

    def forward(self, tokens: Tensor, targets: Tensor | None = None) -> Tensor:
        """Logits of the tokens that come next, in fp32: (sequences, length, vocabulary).

        With targets the sum of the loss over all that are not IGNORED.
        """
        x = self.embedding(tokens)
        cosines, sines = rotations(tokens.shape[1], x.shape[-1] // self.heads, x.device)
        for block in self.blocks:
            x = block(x, cosines, sines)
        logits = linear(self.last(x), self.embedding.weight).float()
        if targets is None:
            return logits
        return cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="sum"
        )

    def scale(self, name: str) -> float | None:
        """Standard deviation of a new weight, by its name; None for norms, which begin as 1.

        What is added to the stream gets less, so that the stream does not grow with the number of
        blocks.
        """
        if name.endswith((".out.weight", ".down.weight")):
            return SCALE / sqrt(2 * len(self.blocks))
        return None if name.endswith(("before.weight", "between.weight", "last.weight")) else SCALE
