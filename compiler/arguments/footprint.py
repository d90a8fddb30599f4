"""The memory that one accelerator needs to train a transformer, as a sum with named parts.

It stands on the standard library alone, so that the tests of the images can hold it against what
torch really allocates. It is a lower bound: what the allocator loses, the driver's own memory and
buffers of communication come on top, 1 to 3 GiB.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_SIZE = re.compile(r"(?<![a-z0-9.])([0-9]{1,4}(?:\.[0-9]{1,3})?)([bm])(?![a-z0-9])")
# Numbers that a block keeps for its backward pass, for each token and for each of its width: the
# inputs of two norms (2) and of the matrices behind them (2), queries, keys and values as they are
# projected (3), queries and keys turned by their positions (2), what attention gives (1), and both
# ends of the MLP's nonlinearity (8; gated ones keep four times 8/3).
KEPT = 18
# A vocabulary that no model in use is below.
SMALLEST_VOCABULARY = 32_000
FULL, HALF = 4, 2


class Shape(NamedTuple):
    """A decoder: its parameters, blocks, width and vocabulary."""

    parameters: int
    layers: int
    width: int
    vocabulary: int


class Footprint(NamedTuple):
    """Bytes on one accelerator, by what they are for."""

    weights: int
    gradients: int
    optimizer: int
    gathered: int
    activations: int
    logits: int

    @property
    def total(self) -> int:
        """All of it."""
        return sum(self)


def shape_of(layers: int, width: int, vocabulary: int) -> Shape:
    """A decoder of these sizes: 12 × layers × width² and an embedding that is used twice.

    A block has 4 width² in its attention and 8 width² in its MLP (Kaplan et al., 2020, table 1).
    """
    return Shape(12 * layers * width**2 + vocabulary * width, layers, width, vocabulary)


def shape_of_name(name: str) -> Shape | None:
    """The usual decoder of the size that a name tells (`base-8b`, `mini-350m`), or None.

    Its width is about 128 times its number of blocks, as in most models from 1 to 100 billion.
    """
    found = _SIZE.search(name.rstrip("/").rpartition("/")[2].lower())
    if found is None:
        return None
    parameters = round(float(found[1]) * (10**9 if found[2] == "b" else 10**6))
    if parameters < 10**6:
        return None
    width = round((128 * parameters / 12) ** (1 / 3))
    return Shape(parameters, max(1, width // 128), width, SMALLEST_VOCABULARY)


def footprint(
    shape: Shape,
    *,
    sequence: int,
    micro_batch: int,
    precision: int = HALF,
    shards: int = 1,
    checkpointing: bool = False,
    lora_rank: int | None = None,
) -> Footprint:
    """The sum for AdamW; `precision` is the bytes of a number in the arithmetic.

    `shards` are the processes over which weights, gradients and optimizer are shared out: 1 is
    plain data parallelism. What is trained is kept in 4 bytes, what is frozen (all but adapters,
    with `lora_rank`) in those of the arithmetic.
    """
    trained, frozen = shape.parameters, 0
    if lora_rank is not None:
        # Two matrices for each linear layer: 8 widths in the attention, 10 in the MLP.
        trained, frozen = 18 * shape.layers * shape.width * lora_rank, shape.parameters
    unit = max(12 * shape.width**2, shape.vocabulary * shape.width)
    gathered = 0
    if shards > 1:
        gathered = precision * unit
    elif precision < FULL and lora_rank is None:
        # autocast keeps a copy of each weight until the forward pass has ended.
        gathered = precision * shape.parameters
    tokens = sequence * micro_batch
    block = KEPT * shape.width * tokens * precision
    activations = shape.layers * block
    if checkpointing:
        activations = shape.layers * shape.width * tokens * precision + block
    return Footprint(
        weights=(FULL * trained + precision * frozen) // shards,
        gradients=FULL * trained // shards,
        optimizer=2 * FULL * trained // shards,
        gathered=gathered,
        activations=activations,
        # The loss is taken in 4 bytes, whatever the rest is.
        logits=FULL * shape.vocabulary * tokens,
    )
