"""Arguments of jobs against the schema of their image: words, types, sums, and broken schemas."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from declarations import ROOT, checked, findings, job, of, only, repository, spot
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from compiler.arguments.limits import BadSchema
from compiler.arguments.schema import schema_of
from compiler.arguments.sums import BadSum, Sum
from compiler.arguments.values import read
from compiler.arguments.words import spelled
from compiler.diagnostics import Finding


def found(extra: str = "", **fields: str | None) -> list[Finding]:
    return findings(job(extra, **fields), arguments=True)


TTS = {
    "team": "nlp",
    "image": "tts",
    "command": "[torchrun, -m, tts.train]",
    "checkpoint": None,
}


def foreign(schema: object, args: str) -> list[Finding]:
    """What is found about a job of an image from elsewhere that has this schema."""
    lock = (ROOT / "images/lock.yaml").read_text("utf-8")
    lock = lock.replace("  tts:\n", "  tts:\n    args_schema: images/tts.json\n")
    content = schema if isinstance(schema, str) else json.dumps(schema)
    files = {"images/lock.yaml": lock, "images/tts.json": content}
    return findings(job(args=args, **TTS), files)


def properties(**parts: object) -> dict[str, Any]:
    return {"type": "object", "properties": parts, "additionalProperties": False}


@pytest.mark.parametrize(
    "args",
    [
        "{model: /models/base-8b, learning_rate: 2e-5}",
        "{learning-rate: 2e-5, lora_targets: [q_proj, v_proj], packing: FALSE}",
        "[--learning_rate, '2e-5', --no-packing, --export]",
        "[--learning-rate=2e-5, --packing, 'false', --lora_targets=q, --lora_targets=v]",
        '["--learning_rate=$(LR)", --seed=$(SEED)]',
        "{global_batch: 8, micro_batch: 1}",
        "[]",
    ],
)
def test_arguments_that_the_image_takes_are_left_alone(args: str) -> None:
    variables = 'env: {LR: "1e-5", SEED: "3"}' if "$(" in args else ""
    assert found(variables, args=args) == []


@pytest.mark.parametrize(
    ("args", "rule", "column", "help"),
    [
        ("{learning_rat: 2e-5}", "unknown-argument", 8, "write `learning_rate`"),
        ("[--learning_rat, '2e-5']", "unknown-argument", 8, "write `--learning_rate`"),
        ("[--seed, '1', more]", "unknown-argument", 21, "before it"),
        ("{learning_rate: fast}", "wrong-argument", 23, "a number above 0 and of at most 1"),
        ("{packing: on}", "wrong-argument", 17, "write true"),
        ("{schedule: cosinus}", "wrong-argument", 18, "write `cosine`"),
        ("{max_steps: 1e3}", "wrong-argument", 19, "write 1000"),
        ("[--seed]", "wrong-argument", 8, "write one behind it"),
        ("{learning_rate: [1e-5, 2e-5]}", "wrong-argument", 30, "write one value, once"),
        ("{learning_rate: 1e-5, learning-rate: 2e-5}", "wrong-argument", 29, "once"),
        ("[--seed, 1, --seed=2, --seed, 3]", "wrong-argument", 19, "once"),
        ("{lora_dropout: 1}", "argument-out-of-range", 22, "a number of at least 0 and below 1"),
        ("{micro_batch: 0}", "argument-out-of-range", 21, "a whole number from 1 to 4096"),
        ("[--micro_batch, '-1']", "argument-out-of-range", 23, "from 1 to 4096"),
        ("{max_steps: 5, epochs: 1}", "conflicting-arguments", 30, "take one of the two out"),
    ],
)
def test_a_mistake_is_reported_once_at_its_word(
    args: str, rule: str, column: int, help: str
) -> None:
    item = only(rule, found(args=args))
    assert (item.place.line, item.place.column) == (7, column)
    assert help in item.help


def test_two_mistakes_are_two_findings() -> None:
    items = found(args="{learning_rate: fast, micro_batch: 0}")
    assert [item.rule for item in items] == ["wrong-argument", "argument-out-of-range"]


@pytest.mark.parametrize(
    ("args", "shape", "reason"),
    [
        (
            "{global_batch: 250, micro_batch: 4, accumulation: 2}",
            {"num_nodes": "4"},
            (
                "global_batch is 250, and should be micro_batch × accumulation × world_size = "
                "4 × 2 × 32 = 256"
            ),
        ),
        (
            "{global_batch: 100, micro_batch: 4}",
            {"num_nodes": "4"},
            "global_batch % (micro_batch × world_size) = 100 % (4 × 32) = 100, and should be 0",
        ),
        (
            "{global_batch: 64, micro_batch: 1}",
            {"num_nodes": "{min: 2, max: 4}"},
            (
                "global_batch % (micro_batch × world_size) = 64 % (1 × 24) = 16, and should be 0 "
                "(with 3 nodes)"
            ),
        ),
        (
            "{global_batch: 3}",
            {"accelerators": "H100:4"},
            "global_batch % (micro_batch × world_size) = 3 % (1 × 4) = 3, and should be 0",
        ),
    ],
)
def test_a_batch_that_the_run_cannot_make_is_reported_with_its_sum(
    args: str, shape: dict[str, str], reason: str
) -> None:
    item = only("mismatched-arguments", found(args=args, **shape))
    assert item.message == reason
    assert item.place.line == job(args=args, **shape).splitlines().index(f"args: {args}") + 1


def test_an_elastic_run_may_have_a_batch_that_every_size_divides() -> None:
    assert found(args="{global_batch: 96}", num_nodes="{min: 2, max: 4}") == []


def test_a_default_alone_is_never_a_mismatch() -> None:
    assert findings(job(args="[--lr, '1']", image="ddp-mini"), arguments=True) == []


def test_a_script_of_another_name_is_not_judged_by_the_image() -> None:
    assert found(command="[torchrun, dpo.py]", args="[--anything, '1']") == []


def test_the_words_of_a_command_count_like_arguments() -> None:
    item = only("wrong-argument", found(command="[torchrun, train.py, --seed, one]"))
    assert spot(item) == "jobs/example.yaml:7:39"


def test_the_first_node_is_judged_by_its_own_arguments() -> None:
    items = found("master: {args: {seed: first}}", num_nodes="2", args="{seed: 1}")
    assert spot(only("wrong-argument", items)).startswith("jobs/example.yaml:9:")


def test_a_beginning_of_a_name_counts_where_the_parser_takes_it() -> None:
    assert findings(job(args="[--epo, '3']", image="ddp-mini"), arguments=True) == []
    only("unknown-argument", found(args="[--epo, '3']"))


def test_what_a_configuration_file_may_hold_is_not_missed() -> None:
    text = job(args="[--config, /data/c.yaml, --heads, '7']", image="pretrain", num_nodes="2")
    assert findings(text, arguments=True) == []
    text = job(args="[--heads, '7']", image="pretrain", num_nodes="2")
    item = only("mismatched-arguments", findings(text, arguments=True))
    assert item.message == "width % (2 × heads) = 768 % (2 × 7) = 12, and should be 0"


def test_a_foreign_image_is_judged_by_the_schema_of_the_lock() -> None:
    schema = properties(voices={"type": "string"}, rate={"type": "integer"})
    schema["required"] = ["voices"]
    assert foreign(schema, "{voices: /data/voices}") == []
    assert spot(only("missing-argument", foreign(schema, "{rate: 1}"))) == "jobs/example.yaml:6:1"
    only("missing-argument", foreign(schema, "[]"))


def test_conditions_over_several_arguments_are_looked_at() -> None:
    schema = properties(a={"type": "integer"}, b={"type": "integer"})
    schema["dependentRequired"] = {"a": ["b"]}
    assert foreign(schema, "{a: 1, b: 2}") == []
    assert "'b'" in only("conflicting-arguments", foreign(schema, "{a: 1}")).message
    schema = properties(a={"oneOf": [{"type": "integer"}, {"const": "auto"}]})
    only("wrong-argument", foreign(schema, "{a: other}"))


NEST: Any = {"type": "string"}
for _ in range(60):
    NEST = {"anyOf": [NEST]}
WIDE = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 10} for n in range(8)}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("{", "no JSON"),
        ("[]", "its top is no object"),
        ("[" * 100_000, "nested too deeply"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "its dialect is"),
        (properties(a={"type": "int"}), "`type` of `a` is `int`"),
        (properties(a={"type": "integer", "minimum": "1"}), "`minimum` of `a`"),
        (properties(a={"$ref": "https://example.com/a.json"}), "not in this file"),
        (properties(a={"$ref": "#/$defs/none"}), "there is no such part"),
        (properties(a={"$ref": "#/properties/a"}), "contains itself"),
        ({**properties(a={"$ref": "#/$defs/d0"}), "$defs": {**WIDE, "d8": {}}}, "too large"),
        (properties(a=NEST), "too deeply"),
        ({"properties": {"a": 1}}, "should be an object"),
        ({"required": ["b"]}, "declares nowhere"),
        ({**properties(), "oneOf": 1}, "no JSON Schema"),
        ({**properties(), "x-runwright": {"rule": []}}, "write `rules`"),
        ({**properties(), "x-runwright": {"rules": [{"check": "a == 1"}]}}, "declared nowhere"),
        ({**properties(), "x-runwright": {"memory": {"model": ["a"]}}}, "declares nowhere"),
        ({**properties(), "x-runwright": {"memory": {"modell": "a"}}}, "write one of"),
        ({**properties(), "x-runwright": {"exclusive": [["a", "b"]]}}, "declares nowhere"),
        ({**properties(), "x-runwright": {"file": ["a"]}}, "declares nowhere"),
        (properties(**{"a b": {}}), "cannot be the name"),
        (properties(a={"type": "string", "x-runwright": {"style": "switch"}}), "is not boolean"),
        (json.dumps(properties(a={"description": "x" * 300_000})), "longer than"),
    ],
)
def test_a_broken_schema_is_one_finding_where_it_is_named(schema: object, words: str) -> None:
    item = only("bad-args-schema", foreign(schema, "{a: 1}"))
    assert item.place.path == "images/lock.yaml"
    assert words in f"{item.message} {item.help}"


def test_a_schema_that_is_not_there_names_the_nearest(tmp_path: Path) -> None:
    text = (ROOT / "images/llm-sft/image.yaml").read_text("utf-8")
    text = text.replace("args.schema.json", "args.schema.jsn")
    root = repository(tmp_path, {"jobs/example.yaml": job()}, arguments=True)
    (root / "images/llm-sft/image.yaml").write_text(text)
    item = only("bad-args-schema", checked(root))
    assert item.help == "write `images/llm-sft/args.schema.json`"
    (root / "jobs/again.yaml").write_text(job())
    assert len(of("bad-args-schema", checked(root))) == 1


def test_a_change_of_the_schema_is_seen_by_the_next_check(tmp_path: Path) -> None:
    text = job(args="{seed: 1}")
    root = repository(tmp_path, {"jobs/example.yaml": text}, arguments=True)
    assert checked(root) == []
    path = root / "images/llm-sft/args.schema.json"
    schema = json.loads(path.read_text())
    del schema["properties"]["seed"]
    path.write_text(json.dumps(schema))
    only("unknown-argument", checked(root))


def test_without_a_schema_the_words_are_what_they_were() -> None:
    args = {"lr": "2e-5", "flag": "true", "many": ["a", "b"], "a_b": "x"}
    words = ["--lr=2e-5", "--flag=true", "--many=a", "--many=b", "--a_b=x"]
    assert [word for word, _ in spelled(args)] == words
    plain = properties(lr={"type": "number"}, flag={"type": "boolean"}, a_b={"type": "string"})
    schema = schema_of(json.dumps(plain).encode())
    assert [word for word, _ in spelled(args, schema)] == words


@pytest.mark.parametrize(
    ("style", "kind", "value", "words"),
    [
        ("switch", "boolean", "true", ["--x-y"]),
        ("switch", "boolean", "False", []),
        ("pair", "boolean", "false", ["--no-x-y"]),
        ("flag", "boolean", "false", ["--x-y=false"]),
        ("words", "array", ["a", "b"], ["--x-y", "a", "b"]),
        ("comma", "array", ["a", "b"], ["--x-y=a,b"]),
        ("repeat", "array", ["a", "b"], ["--x-y=a", "--x-y=b"]),
    ],
)
def test_a_style_says_how_a_mapping_becomes_words(
    style: str, kind: str, value: Any, words: list[str]
) -> None:
    part = {"type": kind, "x-runwright": {"style": style}}
    schema = schema_of(json.dumps(properties(**{"x-y": part})).encode())
    assert [word for word, _ in spelled({"x_y": value}, schema)] == words


def test_words_of_every_style_keep_their_places() -> None:
    schema = properties(
        many={"type": "array", "items": {"type": "integer"}, "x-runwright": {"style": "words"}},
        fast={"type": "boolean", "x-runwright": {"style": "switch"}},
        last={"type": "integer"},
    )
    items = foreign(schema, "{many: [1, two], fast: false, last: x}")
    assert [(item.rule, item.place.column) for item in items] == [
        ("wrong-argument", 18),
        ("wrong-argument", 43),
    ]


BOUNDS = st.integers(-5, 5) | st.sampled_from([0.5, 1.5, -2.5])
NUMBERS = st.fixed_dictionaries(
    {"type": st.sampled_from(["integer", "number", "boolean", "string"])},
    optional={
        "minimum": BOUNDS,
        "maximum": BOUNDS,
        "exclusiveMinimum": BOUNDS,
        "exclusiveMaximum": BOUNDS,
        "enum": st.lists(st.sampled_from([1, 2, 3.5, "a", "true", True]), min_size=1, max_size=3),
        "minLength": st.integers(0, 3),
    },
)
PARTS = NUMBERS | st.fixed_dictionaries({"anyOf": st.lists(NUMBERS, min_size=1, max_size=3)})
TEXTS = st.sampled_from(["1", "2", "3.5", "-4", "1e0", "true", "false", "a", "abcd", "0"])


def meanings(text: str) -> list[Any]:
    """All values that a word of a command line can mean, without the compiler's help."""
    values: list[Any] = [text]
    if text in ("true", "false"):
        values.append(text == "true")
    for kind in (int, float):
        try:
            values.append(kind(text))
        except ValueError:
            continue
    return values


@settings(max_examples=150, deadline=None)
@given(PARTS, TEXTS)
def test_a_value_is_taken_if_and_only_if_the_library_takes_a_meaning_of_it(
    part: dict[str, Any], text: str
) -> None:
    schema = schema_of(json.dumps(properties(a=part)).encode())
    value, fault = read(schema.properties["a"], [text])
    library = Draft202012Validator(part)
    # `1e0` is a whole number to JSON Schema, and none to int().
    whole = [v for v in meanings(text) if not (isinstance(v, float) and v == int(v))]
    taken = any(library.is_valid(v) for v in meanings(text))
    if fault is None:
        assert library.is_valid(value)
    elif any(library.is_valid(v) for v in whole):
        raise AssertionError(f"{part} takes {text}: {fault.message}")
    else:
        assert not taken or "." not in text


@pytest.mark.parametrize(
    ("check", "values", "reason"),
    [
        ("a == b * 2", {"a": 5, "b": 2}, "a is 5, and should be b × 2 = 2 × 2 = 4"),
        ("a <= 3", {"a": 4}, "a is 4, and should be at most 3"),
        ("a < b < c", {"a": 1, "b": 3, "c": 2}, "b is 3, and should be below c = 2"),
        ("a == 1 and b == 2", {"a": 1, "b": 3}, "b is 3, and should be 2"),
        ("a == 1 or b == 2", {"a": 2, "b": 3}, "a == 1 or b == 2 does not hold: 2 == 1 or 3 == 2"),
        (
            "(a + b) * c == 12",
            {"a": 1, "b": 2, "c": 3},
            "(a + b) × c = (1 + 2) × 3 = 9, and should be 12",
        ),
        ("a % b == 0", {"a": 1, "b": 0}, "cannot be worked out: 1 % 0 == 0"),
        ("not a == 1", {"a": 1}, "not a == 1 does not hold: not 1 == 1"),
        ("a == b", {"a": 1, "b": None}, None),
        ("mode == 'x'", {"mode": "y"}, "mode is y, and should be x"),
        ("a * 9 == 1", {"a": "text"}, "cannot be worked out"),
    ],
)
def test_a_rule_says_what_does_not_hold(
    check: str, values: dict[str, Any], reason: str | None
) -> None:
    broken = Sum.read({"check": check}, values).broken(values)
    assert broken == reason or (broken is not None and reason is not None and reason in broken)


@pytest.mark.parametrize(
    "check",
    ["a ** 9", "f(a)", "a.b", "a[0]", "[a]", "lambda: a", "a if a else a", "f'{a}'", "a @ a",
     "a << 9", "(a := 1)", "", "a ==", "(" * 290, "a" * 400, "b == 1"],
)  # fmt: skip
def test_a_rule_is_arithmetic_and_nothing_else(check: str) -> None:
    with pytest.raises(BadSum):
        Sum.read({"check": check}, {"a"})


@pytest.mark.parametrize("name", ["llm-sft", "ddp-mini", "pretrain"])
def test_the_schemas_of_the_images_need_no_library(name: str) -> None:
    schema = schema_of((ROOT / f"images/{name}/args.schema.json").read_bytes())
    assert schema.closed
    assert schema.whole is None


def test_a_check_loads_no_library_for_plain_schemas(tmp_path: Path) -> None:
    root = repository(tmp_path, {"jobs/example.yaml": job(args="{seed: x}")}, arguments=True)
    code = (
        "import sys; from compiler.cli import main; main(['--repo', sys.argv[1], 'check']); "
        "sys.exit('jsonschema' in sys.modules or 'arguments' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(root)], cwd=ROOT, check=False, capture_output=True
    )
    assert done.returncode == 0
    assert b"wrong-argument" in done.stdout


def test_the_schemas_are_what_the_models_say() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/argument_schemas.py"), "--check"],
        check=False,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()


def test_the_small_example_is_parsed_as_it_is_declared() -> None:
    """argparse in train.py and the model beside it: the same names, types and defaults."""
    import ast

    tree = ast.parse((ROOT / "images/ddp-mini/train.py").read_text("utf-8"))
    parsed: dict[str, tuple[str, Any]] = {}
    for node in ast.walk(tree):
        named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if not named or node.func.id != "add":  # type: ignore[union-attr]
            continue
        words = {word.arg: word.value for word in node.keywords}  # type: ignore[union-attr]
        default = words.get("default")
        kind = ast.unparse(words["type"])
        name = ast.literal_eval(node.args[0])  # type: ignore[union-attr]
        parsed[name[2:]] = kind, None if default is None else ast.literal_eval(default)
    kinds = {"integer": "int", "number": "float", "string": "Path"}
    schema = schema_of((ROOT / "images/ddp-mini/args.schema.json").read_bytes())
    declared = {
        prop.name: (kinds[prop.branches[0].kind], prop.default)
        for prop in schema.properties.values()
    }
    assert parsed
    assert declared == parsed


@pytest.mark.parametrize("content", [b"", b"null", b"\xff\xfe", b"3", b'"properties"'])
def test_what_is_no_schema_is_refused(content: bytes) -> None:
    with pytest.raises(BadSchema):
        schema_of(content)


def model_of(image: str) -> Any:
    """The module with an image's model: tests may load it, the compiler never does."""
    from importlib.util import module_from_spec, spec_from_file_location

    name = f"arguments_of_{image.replace('-', '_')}"
    spec = spec_from_file_location(name, ROOT / f"images/{image}/arguments.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("args", "rule"),
    [
        ({"learning_rate": "2e-5", "packing": "false", "lora_targets": ["q", "v"]}, None),
        ({"learning-rate": "1_0e-9", "global_batch": "64", "sharding": "hybrid"}, None),
        ({"export": "TRUE", "schedule": "linear", "max_steps": "10"}, None),
        ({"learning_rate": "fast"}, "type"),
        ({"schedule": "cosinus"}, "type"),
        ({"micro_batch": "0"}, "range"),
        ({"lora_dropout": "1"}, "range"),
        ({"max_steps": "1.5"}, "type"),
    ],
)
def test_the_parser_of_an_image_reads_what_the_compiler_writes(
    args: dict[str, Any], rule: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    module = model_of("llm-sft")
    schema = schema_of((ROOT / "images/llm-sft/args.schema.json").read_bytes())
    words = [word for word, _ in spelled(args, schema)]
    if rule is not None:
        ((name, text),) = args.items()
        _, fault = read(schema.properties[name], [text])
        assert fault is not None
        assert fault.kind == rule
        with pytest.raises(SystemExit):
            module.read(words)
        assert name in capsys.readouterr().err
        return
    parsed = module.read(words)
    for name, text in args.items():
        prop = schema.find(name)
        assert prop is not None
        value, fault = read(prop, text if isinstance(text, list) else [text])
        assert fault is None
        assert getattr(parsed, prop.name) == value
    listed = module.read([f"--no-{name}" for name in ("packing", "export")])
    assert (listed.packing, listed.export, listed.seed) == (False, False, 0)


@pytest.mark.parametrize(
    ("world", "given_", "accumulated"),
    [(4, {}, 1), (4, {"global_batch": 32}, 8), (4, {"global_batch": 32, "micro_batch": 2}, 4),
     (4, {"accumulation": 3}, 3), (4, {"global_batch": 6}, None),
     (4, {"global_batch": 32, "accumulation": 2}, None)],
)  # fmt: skip
def test_the_image_takes_the_batches_that_its_rules_allow(
    world: int, given_: dict[str, int], accumulated: int | None
) -> None:
    arguments = model_of("llm-sft").Arguments(**given_)
    schema = schema_of((ROOT / "images/llm-sft/args.schema.json").read_bytes())
    values = {name: prop.default for name, prop in schema.properties.items()}
    values |= given_ | {"world_size": world}
    rules = [rule for rule in schema.sums if not set(rule.unless) & given_.keys()]
    assert all(rule.broken(values) is None for rule in rules) == (accumulated is not None)
    if accumulated is None:
        with pytest.raises(ValueError, match="global_batch"):
            arguments.accumulated(world)
    else:
        assert arguments.accumulated(world) == accumulated
