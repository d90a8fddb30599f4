"""A dataset as tokens in files, made by the processes of a node together and mapped by each.

Each process encodes a part of the rows and writes it to the node's disk; all map all parts, so that
a node holds the tokens once. The files lose their names at once: what is mapped stays until the
last process ends, however it does.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from runwright_runtime import Unusable, Unwritable
from runwright_runtime.distributed import World

from finetuning.chat import Encoded
from finetuning.rows import Rows

TooLong = Literal["refuse", "drop", "cut"]
Encode = Callable[[int], Sequence[Encoded]]


class Part(NamedTuple):
    """What one process made: of row i of it the sequences i × each to (i + 1) × each."""

    tokens: NDArray[np.int32]
    learned: NDArray[np.bool_]
    ends: NDArray[np.int64]
    lengths: NDArray[np.int64]
    """As long as they are, whatever is kept of them; below 0 if that has nothing to learn."""
    digests: NDArray[np.uint64]


class Tokenized:
    """The sequences of a dataset, `each` for a row; those of rows that were dropped are not there.

    `fingerprint` is another one if any token is; it does not depend on how many processes there
    are.
    """

    def __init__(self, parts: Sequence[Part], kept: NDArray[np.int64], each: int) -> None:
        self._parts = parts
        self._kept = kept
        self._each = each
        self.rows = len(kept)
        total = sum(int(part.digests.sum(dtype=np.uint64)) for part in parts) % (1 << 64)
        self.fingerprint = f"{total:016x}-{self.rows}"

    def sequence(self, row: int, which: int = 0) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """The tokens of a row's sequence, and which of them are learned."""
        part, at = self._found(row, which)
        end = int(part.ends[at])
        begin = int(part.ends[at - 1]) if at else 0
        return part.tokens[begin:end], part.learned[begin:end]

    def length(self, row: int, which: int = 0) -> int:
        """How many tokens it has."""
        part, at = self._found(row, which)
        return int(part.ends[at]) - (int(part.ends[at - 1]) if at else 0)

    def learned(self, row: int, which: int = 0) -> int:
        """How many of them are learned: the first of a sequence never is, nothing stands before."""
        return int(self.sequence(row, which)[1][1:].sum())

    def _found(self, row: int, which: int) -> tuple[Part, int]:
        turn, part = divmod(int(self._kept[row]), len(self._parts))
        return self._parts[part], turn * self._each + which


def tokenized(
    rows: Rows, encode: Encode, world: World, limit: int, too_long: TooLong, each: int = 1
) -> tuple[Tokenized, str | None]:
    """The dataset as tokens, and what there is to say of rows that are too long.

    All processes call it. Raises Unusable, in all of them, for a row that cannot be learned from.
    """
    node = world.rank // world.local_size
    name = world.told(lambda: Path(tempfile.mkdtemp(prefix="tokens-")).name)
    folder = Path(tempfile.gettempdir()) / f"{name}-{node}"
    try:
        world.together(
            lambda: _write(folder, world, _encoded(rows, encode, world, limit, too_long, each))
        )
        parts = world.together(lambda: [_mapped(folder, r) for r in range(world.local_size)])
    finally:
        # Nobody may take away what another one has not mapped yet; `together` has seen to it.
        if world.local_rank == 0:
            shutil.rmtree(folder, ignore_errors=True)
        if world.first:
            shutil.rmtree(folder.with_name(name), ignore_errors=True)
    lengths = np.zeros((len(rows), each), dtype=np.int64)
    for rank, part in enumerate(parts):
        lengths[rank :: len(parts)] = part.lengths.reshape(-1, each)
    empty = np.flatnonzero((lengths < 0).any(axis=1))
    lengths = np.abs(lengths)
    above = np.flatnonzero((lengths > limit).any(axis=1))
    told = None
    if len(above):
        first = int(above[0])
        more = f", and so are {len(above) - 1} others" if len(above) > 1 else ""
        told = (
            f"{rows.place(first)} has {lengths[first].max()} tokens, more than sequence_length "
            f"{limit}{more}; the longest has {lengths.max()}"
        )
        if too_long == "refuse":
            raise Unusable(f"{told}: raise it, or say with too_long that they are dropped or cut")
    gone = above if too_long == "drop" else empty
    kept = np.setdiff1d(np.arange(len(rows)), gone)
    if told is not None:
        told += "; they are dropped" if too_long == "drop" else "; they are cut"
        if too_long == "cut" and len(gone):
            told += f", and {len(gone)} dropped: nothing is left of their answers"
    if not len(kept):
        raise Unusable(f"no row is left to learn from: {told}")
    return Tokenized(parts, kept, each), told


def _encoded(
    rows: Rows, encode: Encode, world: World, limit: int, too_long: TooLong, each: int
) -> Part:
    tokens: list[NDArray[np.int32]] = []
    learned: list[NDArray[np.bool_]] = []
    ends, lengths, digests = [], [], []
    end = 0
    for row in range(world.local_rank, len(rows), world.local_size):
        made = encode(row)
        assert len(made) == each
        dropped = too_long == "drop" and any(len(one.tokens) > limit for one in made)
        for which, one in enumerate(made):
            ids = np.asarray(one.tokens[:limit], dtype=np.int32)
            mask = np.asarray(one.learned[:limit], dtype=np.bool_)
            length = len(one.tokens)
            if not mask[1:].any():
                if length <= limit:
                    raise Unusable(f"{rows.place(row)} has an answer without any token")
                # Cut before its answer began.
                length = -length
            if dropped:
                ids, mask = ids[:0], mask[:0]
            tokens.append(ids)
            learned.append(mask)
            lengths.append(length)
            end += len(ids)
            ends.append(end)
            key = b"%d %d " % (row, which)
            digest = hashlib.blake2b(key + ids.tobytes() + mask.tobytes(), digest_size=8)
            digests.append(int.from_bytes(digest.digest(), "big"))
    return Part(
        np.concatenate(tokens or [np.zeros(0, np.int32)]),
        np.concatenate(learned or [np.zeros(0, np.bool_)]),
        np.asarray(ends, dtype=np.int64),
        np.asarray(lengths, dtype=np.int64),
        np.asarray(digests, dtype=np.uint64),
    )


def _write(folder: Path, world: World, part: Part) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, values in part._asdict().items():
            np.save(folder / f"{name}-{world.local_rank}.npy", values)
    except OSError as error:
        raise Unwritable(f"cannot write the tokens to {folder}: {error.strerror}") from error


def _mapped(folder: Path, rank: int) -> Part:
    def read(name: str) -> np.ndarray:
        path = folder / f"{name}-{rank}.npy"
        # Nothing can be mapped of an empty file.
        return np.load(path, mmap_mode="r" if path.stat().st_size > 4096 else None)

    return Part(*[read(name) for name in Part._fields])
