"""A folder of tokens: numbers in files one after the other, and an index that says what they are.

index.json       vocabulary, type, number of tokens and SHA-256 of each file; written last
shard-00000.bin  tokens, little-endian, two bytes each (four for large vocabularies)
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from runwright_runtime import Unusable

INDEX = "index.json"
FORMAT = 1
TYPES = {"uint16": np.dtype("<u2"), "uint32": np.dtype("<u4")}
_BLOCK = 1 << 22

Array = np.ndarray[Any, Any]


class Tokens(Protocol):
    """A long row of tokens that can be read anywhere."""

    count: int
    vocabulary: int
    fingerprint: str
    """What says that two rows are the same."""

    def read(self, begin: int, end: int) -> Array:
        """Tokens from `begin` to before `end`."""
        ...


class Shard(NamedTuple):
    """A file of the folder, as the index has it."""

    file: str
    tokens: int
    sha256: str


class Shards:
    """The tokens of a folder, read as they are needed; none is kept in memory.

    To make one reads the index and looks at the size of each file. Raises Unusable.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        said = _index(folder)
        self.type = TYPES[said["type"]]
        self.vocabulary: int = said["vocabulary"]
        self.shards = [Shard(**row) for row in said["shards"]]
        self.fingerprint = hashlib.sha256(
            json.dumps([said["type"], self.shards]).encode()
        ).hexdigest()
        self._ends = list(accumulate(shard.tokens for shard in self.shards))
        self.count = self._ends[-1]
        for shard in self.shards:
            self._refuse_size(shard)

    def read(self, begin: int, end: int) -> Array:
        """Tokens from `begin` to before `end`, of one file or several. Raises Unusable."""
        parts: list[Array] = []
        at = bisect_right(self._ends, begin)
        while begin < end:
            shard = self.shards[at]
            first = begin - (self._ends[at] - shard.tokens)
            count = min(shard.tokens - first, end - begin)
            path = self.folder / shard.file
            try:
                part = np.fromfile(path, self.type, count, offset=first * self.type.itemsize)
            except OSError as error:
                raise Unusable(f"cannot read {path}: {error.strerror or error}") from error
            if len(part) < count:
                raise Unusable(f"{path} has become shorter since the training began")
            parts.append(part)
            begin += count
            at += 1
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def verify(self, part: int = 0, parts: int = 1) -> None:
        """Read one of several parts of the files, and raise Unusable unless they are whole."""
        for shard in self.shards[part::parts]:
            path = self.folder / shard.file
            digest = hashlib.sha256()
            largest = 0
            try:
                with path.open("rb") as file:
                    while block := file.read(_BLOCK):
                        digest.update(block)
                        largest = max(largest, int(np.frombuffer(block, self.type).max()))
            except (OSError, ValueError) as error:
                raise Unusable(f"cannot read {path}: {error}") from error
            if digest.hexdigest() != shard.sha256:
                raise Unusable(f"{path} has other content than {INDEX} says: pack or copy it again")
            if largest >= self.vocabulary:
                raise Unusable(
                    f"{path} has a token {largest}, and {INDEX} says that there are "
                    f"{self.vocabulary}"
                )

    def _refuse_size(self, shard: Shard) -> None:
        path = self.folder / shard.file
        wanted = shard.tokens * self.type.itemsize
        try:
            there = path.stat().st_size
        except OSError as error:
            raise Unusable(f"cannot read {path}: {error.strerror}") from error
        if there != wanted:
            raise Unusable(f"{path} has {there} bytes and should have {wanted}: copy it again")


def described(
    vocabulary: int, tokenizer: str, end: int, kind: str, shards: list[Shard]
) -> dict[str, object]:
    """What the index of a folder says."""
    return {
        "format": FORMAT,
        "vocabulary": vocabulary,
        "tokenizer": tokenizer,
        "end": end,
        "type": kind,
        "tokens": sum(shard.tokens for shard in shards),
        "shards": [shard._asdict() for shard in shards],
    }


def _index(folder: Path) -> dict[str, Any]:
    """What the index says, once it is known to be one. Raises Unusable."""
    path = folder / INDEX
    try:
        said: object = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise Unusable(
            f"there is no {path}: make the folder with pack.py, and see that its claim is mounted"
        ) from error
    except OSError as error:
        raise Unusable(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise Unusable(f"{path} is no JSON: {error}") from error
    problem = _problem(said)
    if problem is not None:
        raise Unusable(f"{path} {problem}")
    return cast("dict[str, Any]", said)


def _problem(said: object) -> str | None:
    if not isinstance(said, Mapping):
        return "is no map"
    found = cast("Mapping[str, object]", said)
    if found.get("format") != FORMAT:
        return f"has the format {found.get('format')!r}, and this version reads {FORMAT}"
    if found.get("type") not in TYPES:
        return f"says type: {found.get('type')!r}, which is none of {', '.join(TYPES)}"
    if not _whole(found.get("vocabulary"), 2):
        return f"says vocabulary: {found.get('vocabulary')!r}"
    shards = found.get("shards")
    if not isinstance(shards, list) or not shards:
        return "names no shards"
    for at, row in enumerate(cast("list[object]", shards)):
        if not isinstance(row, Mapping):
            return f"has no map for shard {at}"
        shard = cast("Mapping[str, object]", row)
        name, digest = shard.get("file"), shard.get("sha256")
        if (
            shard.keys() != set(Shard._fields)
            or not isinstance(name, str)
            or Path(name).name != name
            or not isinstance(digest, str)
            or not _whole(shard.get("tokens"), 1)
        ):
            return f"does not say of shard {at} its file, tokens and sha256"
    return None


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
