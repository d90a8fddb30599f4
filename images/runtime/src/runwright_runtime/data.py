"""The order of the data: a function of the seed, and of nothing else.

Sample k of the training is the same whatever the number of processes, and known without looking at
those before it. So the whole state of a loader is how many samples were consumed, and a training
that goes on with more or fewer processes sees the order that it would have seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runwright_runtime.failures import Incompatible, Unusable, WrongWorld

_MASK = (1 << 64) - 1
_ROUNDS = 6


def _mixed(value: int) -> int:
    """A 64-bit number that looks unlike its input (the finalizer of splitmix64)."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def permuted(index: int, size: int, key: int) -> int:
    """Where a permutation of `range(size)` takes an index; each key has its own permutation.

    A Feistel network over the next power of four, walked until it lands within the range (Black
    and Rogaway, "Ciphers with arbitrary finite domains", 2002). Takes no memory, and gives the same
    on every machine and with every version of every library.
    """
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    low = (1 << half) - 1
    while True:
        left, right = index >> half, index & low
        for turn in range(_ROUNDS):
            left, right = right, left ^ (_mixed(key ^ (turn << 56) ^ right) & low)
        index = (left << half) | right
        if index < size:
            return index


@dataclass
class Order:
    """The global order of the samples, and how far a training has come in it.

    `samples` is the size of the dataset, `batch` the samples that all processes together take in a
    step. Epochs follow each other without a gap: a step may take the end of one and the beginning
    of the next, and no sample is left out. Raises Unusable.
    """

    samples: int
    batch: int
    seed: int = 0
    shuffle: bool = True
    consumed: int = 0

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise Unusable("the dataset has no samples")
        if self.batch < 1:
            raise Unusable(f"a batch of {self.batch} samples makes no step")

    @property
    def epoch(self) -> int:
        """How many times all samples were consumed."""
        return self.consumed // self.samples

    def sample(self, position: int) -> int:
        """Which sample stands at a position of the whole training."""
        epoch, within = divmod(position, self.samples)
        if not self.shuffle:
            return within
        return permuted(within, self.samples, _mixed(_mixed(self.seed & _MASK) ^ epoch))

    def share(self, size: int) -> int:
        """Samples of a step for each of `size` processes. Raises WrongWorld if they differ."""
        if self.batch % size:
            raise WrongWorld(
                f"a batch of {self.batch} samples cannot be shared evenly by {size} processes"
            )
        return self.batch // size

    def batches(
        self, rank: int = 0, size: int = 1, micro: int | None = None
    ) -> Iterator[list[int]]:
        """The indices for one process, from where the training is, without end.

        For `batch_sampler=` of a DataLoader. With `micro` a step's share comes in pieces of that
        many samples, for accumulation. Does not move the order: steps that were made do, and a
        loader reads ahead of them. Raises WrongWorld.
        """
        share = self.share(size)
        piece = share if micro is None else micro
        if piece < 1 or share % piece:
            raise WrongWorld(
                f"each of {size} processes has {share} samples a step, which is no multiple of "
                f"the {piece} that it takes at once"
            )
        return self._batches(self.consumed + rank * share, share, piece)

    def _batches(self, position: int, share: int, piece: int) -> Iterator[list[int]]:
        while True:
            for begin in range(position, position + share, piece):
                yield [self.sample(at) for at in range(begin, begin + piece)]
            position += self.batch

    def advance(self) -> None:
        """Take note of a step."""
        self.consumed += self.batch

    def state_dict(self) -> dict[str, object]:
        """What a checkpoint keeps."""
        return {
            "samples": self.samples,
            "seed": self.seed,
            "shuffle": self.shuffle,
            "consumed": self.consumed,
        }

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on where a checkpoint was. Raises Incompatible if the data are others."""
        for name in ("samples", "seed", "shuffle"):
            mine: object = getattr(self, name)
            if state.get(name) != mine:
                raise Incompatible(
                    f"the order of the data is another one: {name} was {state.get(name)!r} and is "
                    f"{mine!r}"
                )
        consumed = state.get("consumed")
        if not isinstance(consumed, int) or consumed < 0:
            raise Incompatible(f"the checkpoint's order says consumed: {consumed!r}")
        self.consumed = consumed
