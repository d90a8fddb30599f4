"""Makes token shards out of texts: what `train.py --data` reads.

    python pack.py --into /data/mix --tokenizer tokenizer.json part-*.jsonl.gz
    python pack.py --into /data/small book.txt

A file is JSON Lines (.jsonl, each line a map with the text under `--field`) or plain text (one
document); .gz is unpacked. The documents follow each other in the order of the command line, each
with the end token behind it. The index is written last: a folder without one is not finished.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from pretraining.shards import INDEX, TYPES, Array, Shard, described
from pretraining.tokenizing import Bytes, File, Tokenizer
from runwright_runtime import RunFailure, Unusable, Unwritable, save


def texts(path: Path, field: str) -> Iterator[str]:
    """The documents of a file. Raises Unusable, with the line of a row that is none."""
    unpacked = path.suffix == ".gz"
    rows = (path.with_suffix("") if unpacked else path).suffix == ".jsonl"
    try:
        with gzip.open(path, "rb") if unpacked else path.open("rb") as file:
            if not rows:
                yield file.read().decode()
                return
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _text(line, field, f"{path}:{number}")
    except UnicodeDecodeError as error:
        raise Unusable(f"{path} is no UTF-8: {error.reason} at byte {error.start}") from error
    except (OSError, EOFError) as error:
        raise Unusable(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}"
        ) from error


def _text(line: bytes, field: str, where: str) -> str:
    try:
        row: object = json.loads(line)
    except ValueError as error:
        raise Unusable(f"{where}: no JSON") from error
    text: object = row.get(field) if isinstance(row, dict) else None  # pyright: ignore
    if not isinstance(text, str):
        raise Unusable(f"{where}: no text under {field!r}: say by --field what it is called")
    return text


def pack(documents: Iterable[str], tokenizer: Tokenizer, folder: Path, most: int) -> list[Shard]:
    """Write documents as shards of at most `most` tokens each, and then their index.

    Raises Unwritable, and Unusable where there are no tokens or the folder has an index already.
    """
    if (folder / INDEX).exists():
        raise Unusable(f"there is {folder / INDEX} already: take another folder, or delete it")
    kind = "uint16" if tokenizer.vocabulary <= 1 << 16 else "uint32"
    end = np.array([tokenizer.end], dtype=TYPES[kind])
    shards: list[Shard] = []
    waiting: list[Array] = []
    count = 0

    def write(row: Array) -> None:
        data = row.tobytes()
        name = f"shard-{len(shards):05d}.bin"
        save(folder / name, data)
        shards.append(Shard(name, len(row), hashlib.sha256(data).hexdigest()))

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unwritable(f"cannot make {folder}: {error.strerror}") from error
    for text in documents:
        found = tokenizer.encode(text).astype(TYPES[kind])
        waiting += [found, end]
        count += len(found) + 1
        if count >= most:
            row = np.concatenate(waiting)
            whole = len(row) - len(row) % most
            for begin in range(0, whole, most):
                write(row[begin : begin + most])
            waiting, count = [row[whole:]], len(row) - whole
    if count:
        write(np.concatenate(waiting))
    if not shards:
        raise Unusable("the files hold no text")
    about = described(tokenizer.vocabulary, tokenizer.name, tokenizer.end, kind, shards)
    save(folder / INDEX, f"{json.dumps(about, indent=1)}\n".encode())
    return shards


def main(words: list[str] | None = None) -> None:
    """Pack the files of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("files", nargs="+", type=Path, help="texts, in this order")
    add("--into", type=Path, required=True, help="folder for the shards")
    add("--tokenizer", type=Path, help="tokenizer.json of `tokenizers`; default: bytes")
    add("--end", default="<|endoftext|>", help="its token that ends a document")
    add("--field", default="text", help="where the text is in a row of JSON")
    add("--shard-tokens", type=int, default=100_000_000, help="tokens of a shard, at most")
    args = parser.parse_args(words)
    if args.shard_tokens < 1:
        parser.error("--shard-tokens must be 1 or more")
    try:
        tokenizer = File(args.tokenizer, args.end) if args.tokenizer else Bytes()
        documents = (text for path in args.files for text in texts(path, args.field))
        shards = pack(documents, tokenizer, args.into, args.shard_tokens)
    except RunFailure as failure:
        print(f"runwright: {failure}", file=sys.stderr)
        sys.exit(failure.status)
    total = sum(shard.tokens for shard in shards)
    print(f"{total} tokens in {len(shards)} shards; --vocabulary {tokenizer.vocabulary}")


if __name__ == "__main__":
    main()
