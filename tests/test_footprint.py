"""The estimate of memory: its sum by hand, what it needs to know, and where it is told."""

from __future__ import annotations

import pytest
from declarations import findings, job, of, only

from compiler.arguments.footprint import footprint, shape_of, shape_of_name

GIB = 2**30


def test_a_sum_worked_out_by_hand() -> None:
    shape = shape_of(layers=2, width=10, vocabulary=100)
    assert shape.parameters == 12 * 2 * 100 + 1000 == 3400
    whole = footprint(shape, sequence=8, micro_batch=2, precision=4)
    assert whole == (13600, 13600, 27200, 0, 2 * 18 * 10 * 16 * 4, 4 * 100 * 16)
    assert whole.total == 13600 + 13600 + 27200 + 23040 + 6400
    half = footprint(shape, sequence=8, micro_batch=2, shards=4)
    assert half == (3400, 3400, 6800, 2 * 1200, 11520, 6400)
    kept = footprint(shape, sequence=8, micro_batch=2, checkpointing=True)
    assert kept.activations == 2 * 10 * 16 * 2 + 18 * 10 * 16 * 2
    assert kept.gathered == 2 * 3400
    lora = footprint(shape, sequence=8, micro_batch=2, lora_rank=1)
    assert lora[:3] == (4 * 360 + 2 * 3400, 4 * 360, 8 * 360)


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("/models/base-8b", 8),
        ("org/Model-1.5B-Instruct", 1.5),
        ("mini_350m", 0.35),
        ("moe-30b-a3b/", 30),
        ("/models/base", None),
        ("mixture-8x7b", None),
        ("v2-0.0001m", None),
        ("8bit", None),
    ],
)
def test_a_name_tells_the_size_of_a_model(name: str, billions: float | None) -> None:
    shape = shape_of_name(name)
    assert (None if shape is None else shape.parameters / 1e9) == billions


def test_the_usual_model_of_a_size_has_about_that_many_parameters() -> None:
    for name in ("a-1b", "a-8b", "a-70b"):
        shape = shape_of_name(name)
        assert shape is not None
        made = 12 * shape.layers * shape.width**2
        assert abs(made / shape.parameters - 1) < 0.1


def told(args: str, **fields: str) -> list[str]:
    items = findings(job(args=args, **fields), arguments=True)
    return [item.message for item in of("model-above-memory", items)]


@pytest.mark.parametrize(
    ("args", "fields"),
    [
        ("{model: /models/base-8b}", {}),
        ("{model: /models/base-70b}", {"num_nodes": "4"}),
        ("{model: /models/base-70b, tuning: lora}", {}),
        ("{model: /models/unknown, micro_batch: 512}", {}),
        ("{model: $(MODEL), micro_batch: 512}", {"env": "{MODEL: /models/any}"}),
        ("{model: /models/base-1b, sharding: none}", {}),
        ("[--layers, '96', --width, '12288', --config, /data/c.yaml]",
         {"image": "pretrain", "num_nodes": "2"}),
    ],
)  # fmt: skip
def test_a_training_that_fits_or_that_nobody_knows_is_left_alone(
    args: str, fields: dict[str, str]
) -> None:
    assert told(args, **fields) == []


@pytest.mark.parametrize(
    ("args", "fields", "words"),
    [
        ("{model: /models/base-70b}", {}, "over 8 processes"),
        ("{model: /models/base-8b, sharding: none}", {}, "whole on each"),
        ("{model: /models/base-70b, sharding: hybrid}", {"num_nodes": "4"}, "over 8 processes"),
        ("{model: m-8b, micro_batch: 64, activation_checkpointing: false}", {}, "8 bill"),
        ("{model: /models/base-45b}", {"num_nodes": "{min: 1, max: 4}"}, "over 8 processes"),
        ("[--layers, '96', --width, '12288', --heads, '96']",
         {"image": "pretrain", "num_nodes": "2"}, "1.7e+02 billion"),
    ],
)  # fmt: skip
def test_a_training_that_cannot_fit_is_told_with_its_sum(
    args: str, fields: dict[str, str], words: str
) -> None:
    (message,) = told(args, **fields)
    assert "which has 80: weights" in message
    assert words in message
    parts = [float(word.split()[-1]) for word in message.split(": ")[1].split(" GiB")[0].split("+")]
    total = float(message.partition("at least ")[2].partition(" GiB")[0])
    assert abs(sum(parts) - total) < 1


def test_it_names_the_accelerator_and_its_memory() -> None:
    item = only("model-above-memory", findings(job(args="{model: m-70b}"), arguments=True))
    assert item.place.line == 3
    assert item.related[0].place.path == "policy/clusters/west.yaml"
