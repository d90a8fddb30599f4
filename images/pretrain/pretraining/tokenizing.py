"""Texts as numbers: byte by byte, or by a file of the library `tokenizers`."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from runwright_runtime import Unusable

Array = np.ndarray[Any, Any]


class Tokenizer(Protocol):
    """What `pack.py` needs of one."""

    name: str
    """What says that two tokenizers are the same."""
    vocabulary: int
    """How many tokens there are."""
    end: int
    """The token that ends every document."""

    def encode(self, text: str) -> Array:
        """The tokens of a text, without an end."""
        ...


class Bytes:
    """A token for each byte of UTF-8, and one for the end: nothing to be learned or downloaded."""

    name = "bytes"
    vocabulary = 257
    end = 256

    def encode(self, text: str) -> Array:
        """The tokens of a text, without an end."""
        return np.frombuffer(text.encode("utf-8", "replace"), dtype=np.uint8)


class File:
    """A tokenizer.json. Raises Unusable for one that cannot be read, or lacks the end token."""

    def __init__(self, path: Path, end: str) -> None:
        import tokenizers

        try:
            data = path.read_bytes()
        except OSError as error:
            raise Unusable(f"cannot read {path}: {error.strerror}") from error
        try:
            self._inner = tokenizers.Tokenizer.from_str(data.decode())
        except Exception as error:  # the library raises no class of its own
            raise Unusable(f"{path} is no tokenizer: {str(error).splitlines()[0]}") from error
        found = self._inner.token_to_id(end)
        if found is None:
            raise Unusable(f"{path} has no token {end!r}: say by --end which one ends a text")
        self.end: int = found
        self.vocabulary: int = self._inner.get_vocab_size()
        self.name = f"sha256:{hashlib.sha256(data).hexdigest()}"

    def encode(self, text: str) -> Array:
        """The tokens of a text, without an end."""
        return np.array(self._inner.encode(text, add_special_tokens=False).ids, dtype=np.uint32)
