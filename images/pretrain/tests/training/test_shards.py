"""Texts become shards, shards become sequences, and whatever is wrong with them is told."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pack import main, pack
from pretraining.gpt import IGNORED
from pretraining.sequences import Sequences
from pretraining.shards import Shards
from pretraining.tokenizing import Bytes
from pretrainings import TOKENS, tokens
from runwright_runtime import Unusable
from runwright_runtime.data import Order


class Counting:
    """A row in which each token is its own place."""

    vocabulary = 10_000
    fingerprint = "counting"

    def __init__(self, count: int) -> None:
        self.count = count

    def read(self, begin: int, end: int) -> np.ndarray:
        return np.arange(begin, end)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("count", [16 * 30 + 1, 16 * 30 + 2, 16 * 30 - 5])
def test_every_token_is_foretold_once_in_an_epoch(size: int, count: int) -> None:
    sequences = Sequences(Counting(count), 16)
    order = Order(len(sequences), 12, seed=3)
    given: list[int] = []
    targets: list[int] = []
    batches = [order.batches(rank, size, 1) for rank in range(size)]
    # Three epochs, whose ends are in the middle of steps.
    for _ in range(-(-3 * len(sequences) // 12)):
        rows = [next(mine)[0] for mine in batches for _ in range(12 // size)]
        found = [sequences[row] for row in rows]
        given += rows
        step: list[int] = []
        for inputs, wanted in found:
            counts = wanted != IGNORED
            assert (wanted[counts] == inputs[counts] + 1).all()
            step += wanted[counts].tolist()
        assert len(step) == sequences.weight(rows)
        targets += step
    assert sorted(targets[: count - 1]) == list(range(1, count))
    for epoch in range(3):
        part = given[epoch * len(sequences) : (epoch + 1) * len(sequences)]
        assert sorted(part) == list(range(len(sequences)))
    assert given[: len(sequences)] != given[len(sequences) : 2 * len(sequences)]


def test_shards_are_one_row_whatever_is_read(data: Path) -> None:
    found = Shards(data)
    expected = tokens(data)
    assert [shard.tokens for shard in found.shards] == [600, 600, TOKENS - 1200]
    assert found.count == TOKENS == len(expected)
    found.verify()
    for begin, end in [(0, 5), (599, 601), (600, 1200), (500, 1300), (TOKENS - 1, TOKENS)]:
        assert found.read(begin, end).tolist() == expected[begin:end].tolist()


def test_texts_are_packed_in_their_order_with_an_end_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("Grüße", "utf-8")
    rows = [json.dumps({"body": text}) for text in ("one", "", "two\nlines")]
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress("\n\n".join(rows).encode()))
    folder = tmp_path / "packed"
    words = [f"{tmp_path}/a.txt", f"{tmp_path}/b.jsonl.gz", f"--into={folder}"]
    main([*words, "--field=body", "--shard-tokens=10"])
    expected = [*"Grüße".encode(), 256, *b"one", 256, 256, *b"two\nlines", 256]
    assert tokens(folder).tolist() == expected
    found = Shards(folder)
    found.verify()
    assert [shard.tokens for shard in found.shards] == [10, 10, 3]
    assert capsys.readouterr().out == "23 tokens in 3 shards; --vocabulary 257\n"
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 78
    assert "already: take another folder" in capsys.readouterr().err


def test_a_tokenizer_of_ones_own_gives_the_tokens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import tokenizers

    known = {"<end>": 70_000, "a": 1, "b": 66_000, "?": 0}
    model = tokenizers.models.WordLevel(known, unk_token="?")
    own = tokenizers.Tokenizer(model)
    own.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    own.add_tokens([f"word{n}" for n in range(70_000)])
    own.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "a.txt").write_text("b a zebra b")
    words = [f"{tmp_path}/a.txt", f"--tokenizer={tmp_path}/tokenizer.json"]
    main([*words, f"--into={tmp_path}/packed", "--end=<end>"])
    found = Shards(tmp_path / "packed")
    assert found.read(0, found.count).tolist() == [66_000, 1, 0, 66_000, 70_000]
    assert found.type.itemsize == 4
    with pytest.raises(SystemExit):
        main([*words, f"--into={tmp_path}/other"])
    assert "has no token '<|endoftext|>': say by --end" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b'{"text": "x"}\n{"text": 3}\n', "a.jsonl:2: no text under 'text': say by"),
        ("a.jsonl", b'{"text": "x"}\n{"text": ', "a.jsonl:2: no JSON"),
        ("a.txt", b"abc\xff", "a.txt is no UTF-8: invalid start byte at byte 3"),
        ("a.txt.gz", b"plain", "cannot read {folder}/a.txt.gz: Not a gzipped file"),
        ("a.jsonl", b"\n", "the files hold no text"),
    ],
)
def test_bad_texts_are_told_and_no_index_is_left(
    name: str, content: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SystemExit) as ended:
        main([f"{tmp_path}/{name}", f"--into={tmp_path}/packed"])
    assert ended.value.code == 78
    err = capsys.readouterr().err
    assert said.format(folder=tmp_path) in err
    assert err.count("\n") == 1
    assert not (tmp_path / "packed/index.json").exists()


def test_a_shard_that_shrinks_in_the_middle_of_a_training_is_told(tmp_path: Path) -> None:
    pack(["a long text"], Bytes(), tmp_path, 100)
    found = Shards(tmp_path)
    (tmp_path / "shard-00000.bin").write_bytes(b"abcd")
    with pytest.raises(Unusable, match="has become shorter since the training began"):
        found.read(0, 12)


def test_data_of_one_token_cannot_be_learned() -> None:
    with pytest.raises(Unusable, match="the data have 1 tokens"):
        Sequences(Counting(1), 16)


def _index(**values: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "index.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **values}))

    return change


def _shard(**values: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "index.json"
        said: dict[str, Any] = json.loads(path.read_text())
        said["shards"][1] = {**said["shards"][1], **values}
        path.write_text(json.dumps(said))

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / "index.json").unlink(), "there is no {folder}/index.json: make"),
        (lambda folder: (folder / "index.json").write_text("{"), "index.json is no JSON: "),
        (lambda folder: (folder / "index.json").write_text("[]"), "index.json is no map"),
        (_index(format=2), "has the format 2, and this version reads 1"),
        (_index(type="int8"), "says type: 'int8', which is none of uint16, uint32"),
        (_index(vocabulary=True), "says vocabulary: True"),
        (_index(shards=[]), "names no shards"),
        (_shard(file="../x.bin"), "does not say of shard 1 its file, tokens and sha256"),
        (_shard(tokens=0), "does not say of shard 1 its file, tokens and sha256"),
        (_shard(tokens=601), "shard-00001.bin has 1200 bytes and should have 1202"),
        (_index(vocabulary=40), "and index.json says that there are 40"),
    ],
)
def test_an_index_that_says_something_else_is_told(
    change: Callable[[Path], object], said: str, data: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "shards"
    shutil.copytree(data, folder)
    change(folder)
    with pytest.raises(Unusable) as failure:
        Shards(folder).verify()
    assert said.format(folder=folder) in str(failure.value)
