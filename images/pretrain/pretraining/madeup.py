"""Text that is made up: sentences by a small grammar, for a model that learns within seconds."""

from __future__ import annotations

import hashlib
import random

import numpy as np

from pretraining.shards import Array
from pretraining.tokenizing import Bytes

NAME = "made-up"
"""What `--data` says for it."""

_WHO = ("the baker", "a sailor", "my aunt", "the old judge", "a gardener")
_DOES = ("paints", "mends", "sells", "counts", "hides")
_WHAT = ("nets", "lamps", "apples", "letters", "wheels", "clocks")
_WHEN = ("at dawn", "on Mondays", "in the rain", "every spring")


def documents(count: int, seed: int = 0) -> list[str]:
    """Some texts of a few sentences each; the same for the same seed."""
    draw = random.Random(seed)  # noqa: S311 (no secret)

    def sentence() -> str:
        words = (draw.choice(part) for part in (_WHO, _DOES, _WHAT, _WHEN))
        return " ".join(words).capitalize() + "."

    return [" ".join(sentence() for _ in range(draw.randint(2, 6))) for _ in range(count)]


class MadeUp:
    """About 40,000 tokens of such texts, in memory."""

    def __init__(self, count: int = 250) -> None:
        tokenizer = Bytes()
        end = np.array([tokenizer.end], dtype=np.uint16)
        texts = [tokenizer.encode(text).astype(np.uint16) for text in documents(count)]
        self._all: Array = np.concatenate([part for text in texts for part in (text, end)])
        self.vocabulary = tokenizer.vocabulary
        self.count = len(self._all)
        self.fingerprint = hashlib.sha256(self._all.tobytes()).hexdigest()

    def read(self, begin: int, end: int) -> Array:
        """Tokens from `begin` to before `end`."""
        return self._all[begin:end]
