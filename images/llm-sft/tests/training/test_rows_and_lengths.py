"""Where rows come from, and what is said of those that cannot be learned."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from finetuning import madeup
from finetuning.chat import Chat
from finetuning.conversations import Conversations
from finetuning.preferences import Preferences
from finetuning.rows import Lines, Listed, rows_of
from runwright_runtime import Unusable
from runwright_runtime.distributed import World
from tunings import arguments, asked, write

GOOD = asked("coal", "black")


def many(count: int) -> list[dict[str, object]]:
    return [asked(f"thing {number}", "red") for number in range(count)]


def as_lines(folder: Path) -> Path:
    (folder / "more").mkdir()
    # A volume that Kubernetes mounts from a ConfigMap has such folders beside its files.
    (folder / "..data").mkdir()
    write(folder / "..data" / "a.jsonl", GOOD)
    write(folder / "a.jsonl", *many(7)[:3], "")
    write(folder / "more" / "b.jsonl", *many(7)[3:])
    return folder


def as_parquet(folder: Path) -> Path:
    import datasets

    datasets.Dataset.from_list(many(7)).to_parquet(folder / "a.parquet")
    return folder


def as_one_parquet(folder: Path) -> Path:
    return as_parquet(folder) / "a.parquet"


def as_saved(folder: Path) -> Path:
    import datasets

    datasets.Dataset.from_list(many(7)).save_to_disk(str(folder))
    return folder


@pytest.mark.parametrize("made", [as_lines, as_parquet, as_one_parquet, as_saved])
def test_rows_are_the_same_wherever_they_lie(
    made: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    rows = rows_of(str(made(tmp_path / "data")))
    assert [rows[index] for index in range(len(rows))] == many(7)


def test_a_place_is_the_line_of_the_file(tmp_path: Path) -> None:
    first = write(tmp_path / "a.jsonl", GOOD, "", GOOD)
    second = write(tmp_path / "b.jsonl", GOOD)
    rows = Lines([first, second])
    assert [rows.place(index) for index in range(3)] == [
        f"{first}:1", f"{first}:3", f"{second}:1"
    ]  # fmt: skip
    with pytest.raises(IndexError):
        rows[3]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"messages": [', ":2 is no JSON: "),
        (b"\xff\xfe", ":2 is not UTF-8"),
        (b"[1]", ":2 is no JSON object, but list"),
        (b"[" * 100_000, ":2 is no JSON: "),
        (b"{}", ":2 has no messages, but none"),
        (b'{"text": "x", "id": 1}', ":2 has no messages, but text, id"),
        (b'{"messages": []}', ":2: messages must be a list of maps"),
    ],
)
def test_a_broken_line_is_told_with_its_number(
    line: bytes, said: str, tmp_path: Path, world: World
) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b"\n" + line + b"\n")
    with pytest.raises(Unusable) as failure:
        Conversations(arguments(), rows_of(str(path)), Chat(madeup.tokenizer()), world)
    assert str(failure.value).startswith(f"{path}{said}")
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (GOOD, "row 1 of it has no prompt and no chosen and no rejected, but messages"),
        (
            {"prompt": "x", "chosen": "y", "rejected": [{"role": "user", "content": "z"}]},
            "row 1 of it: rejected begins with the role user",
        ),
        ({"prompt": "x", "chosen": "", "rejected": "z"}, "row 1 of it: chosen: message 0 is an"),
        ({"prompt": [], "chosen": "y", "rejected": "z"}, "row 1 of it: prompt: messages must be"),
    ],
)
def test_a_broken_pair_is_told_with_its_place(row: dict[str, Any], said: str, world: World) -> None:
    rows = Listed([madeup.preferences()[0], row], "it")
    with pytest.raises(Unusable) as failure:
        Preferences(arguments(method="dpo"), rows, Chat(madeup.tokenizer()), world)
    assert str(failure.value).startswith(said)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("{}/none.jsonl", "there is no file or folder"),
        ("{}", "has no *.jsonl and no *.parquet"),
        ("{}/empty.jsonl", "has no rows"),
        ("{}/broken.parquet", "`datasets` cannot load"),
        ("somebody/nothing", "`datasets` cannot load somebody/nothing"),
    ],
)
def test_data_that_are_not_there_are_told(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    if "empty" in name:
        (tmp_path / "empty.jsonl").write_text("\n\n")
    if "broken" in name:
        (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    with pytest.raises(Unusable) as failure:
        rows_of(name.format(tmp_path))
    assert said in str(failure.value)


def long(world: World, too_long: str, rows: list[dict[str, object]]) -> Conversations:
    args = arguments(too_long=too_long, sequence_length=64)
    return Conversations(args, Listed(rows, "it"), Chat(madeup.tokenizer()), world)


def test_what_is_too_long_is_refused_dropped_or_cut(world: World) -> None:
    answer = {"role": "assistant", "content": "It is " + 40 * "very " + "red."}
    # The second begins with `<|begin|>user\n`, 20 letters, `<|end|><|begin|>assistant\n`: 38
    # tokens; 210 letters and `<|end|>` are learned.
    questions = [
        {"role": "user", "content": letter * count} for letter, count in (("?", 20), ("!", 70))
    ]
    rows = [GOOD, *({"messages": [question, answer]} for question in questions)]
    with pytest.raises(Unusable) as failure:
        long(world, "refuse", rows)
    told = (
        "row 1 of it has 249 tokens, more than sequence_length 64, and so are 1 others; the "
        "longest has 299"
    )
    assert str(failure.value).startswith(told)
    dropped = long(world, "drop", rows)
    assert dropped.about["conversations"] == 1
    assert dropped.note == f"{told}; they are dropped"
    cut = long(world, "cut", rows)
    assert cut.about["conversations"] == 2
    assert cut.note == f"{told}; they are cut, and 1 dropped: nothing is left of their answers"
    assert cut.about["tokens"] == 64 + dropped.about["tokens"]
    # What is left of the second are the first letters of its answer.
    batch = cut.batch([next(at for at in range(2) if cut.weight(at) == 64 - 38)])
    assert int((batch["labels"] >= 0).sum()) == 64 - 38
    with pytest.raises(Unusable, match="no row is left to learn from: row 0 of it has 249 tokens"):
        long(world, "drop", rows[1:2])


def test_the_fingerprint_tells_other_tokens_and_other_answers(world: World) -> None:
    def found(rows: list[dict[str, object]], **values: object) -> str:
        chat = Chat(madeup.tokenizer())
        return Conversations(arguments(**values), Listed(rows, "it"), chat, world).fingerprint

    plain = found(many(3))
    assert found(many(3)) == plain
    assert found(many(3), packing=False) == plain
    assert found(many(2)) != plain
    assert found(many(3)[::-1]) != plain
    assert found(many(3), answers_only=False) != plain
