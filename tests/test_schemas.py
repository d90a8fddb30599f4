"""The JSON Schemas: valid, fresh, as strict as said, and never stricter than `check`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from regress import Regex

from compiler.data import schemas as schema_folder
from compiler.nodes import plain
from compiler.schemas import MODELS, schemas, text
from compiler.source import decode
from compiler.tree import read
from compiler.validation import validate

ROOT = Path(__file__).parent.parent
MADE = schemas()
FILES = {
    "job": ["jobs/*.yaml", "jobs/*/*.yaml"],
    "cluster": ["policy/clusters/*.yaml"],
    "team": ["policy/teams/*.yaml"],
    "rules": ["policy/rules.yaml"],
    "lock": ["images/lock.yaml"],
    "image": ["images/*/image.yaml"],
}


def every(node: Any) -> list[dict[str, Any]]:
    """All mappings within a schema, itself first."""
    if isinstance(node, list):
        return [found for item in node for found in every(item)]
    if not isinstance(node, dict):
        return []
    return [node, *(found for value in node.values() for found in every(value))]


def subschemas(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The mappings that are schemas themselves, and not tables of schemas or examples."""
    bare = json.loads(json.dumps(schema))
    for node in every(bare):
        node.pop("examples", None)
    return [node for node in every(bare) if "type" in node or "properties" in node]


@pytest.mark.parametrize("name", MADE)
def test_schema_is_valid_and_says_what_it_is(name: str) -> None:
    schema = MADE[name]
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:runwright:schema:{name}"
    assert schema["title"]
    assert schema["description"]


def test_check_jsonschema_takes_every_schema_file() -> None:
    files = sorted(map(str, schema_folder().glob("*.schema.json")))
    assert [Path(file).name for file in files] == [f"{name}.schema.json" for name in MADE]
    command = [str(Path(sys.executable).with_name("check-jsonschema")), "--check-metaschema"]
    done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", MADE)
def test_schema_file_is_fresh(name: str) -> None:
    assert (schema_folder() / f"{name}.schema.json").read_text("utf-8") == text(MADE[name])


@pytest.mark.parametrize("name", MODELS)
def test_no_field_may_be_null_and_no_mapping_takes_unknown_keys(name: str) -> None:
    for node in subschemas(MADE[name]):
        assert node.get("type") != "null"
        assert "null" not in node.get("type", ())
        assert node.get("default", 0) is not None
        if "properties" in node or "patternProperties" in node:
            assert node["additionalProperties"] is False


@pytest.mark.parametrize("name", MODELS)
def test_every_field_is_described(name: str) -> None:
    for node in subschemas(MADE[name]):
        for key, field in node.get("properties", {}).items():
            # Where a field and its type say the same, it is said once, at the type.
            kind = MADE[name].get("$defs", {}).get(field.get("$ref", "").rpartition("/")[2], {})
            assert field.get("description") or kind.get("description"), key


@pytest.mark.parametrize("name", MODELS)
def test_examples_in_a_schema_satisfy_it(name: str) -> None:
    schema = MADE[name]
    for node in every(schema):
        if isinstance(node.get("examples"), list):
            own = {**node, "$defs": schema.get("$defs", {})}
            for example in node["examples"]:
                Draft202012Validator(own).validate(example)


@pytest.mark.parametrize("name", FILES)
def test_schema_takes_the_files_of_the_example_repository(name: str) -> None:
    paths = [path for pattern in FILES[name] for path in sorted(ROOT.glob(pattern))]
    assert paths
    for path in paths:
        node, findings = read(decode(path.name, path.read_bytes())[0])
        assert not findings
        assert not list(Draft202012Validator(MADE[name]).iter_errors(typed(plain(node)))), path


def typed(value: Any) -> Any:
    """Plain scalars as an editor's YAML reader would type them."""
    if isinstance(value, dict):
        return {key: typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    if value in ("true", "false"):
        return value == "true"
    try:
        return int(value)
    except ValueError:
        try:
            return float(value)
        except ValueError:
            return value


def patterns() -> list[str]:
    found: set[str] = set()
    for schema in MADE.values():
        for node in every(schema):
            if isinstance(node.get("pattern"), str):
                found.add(node["pattern"])
            found.update(node.get("patternProperties", {}))
    return sorted(found)


HOSTILE = ["", "/", "/a/../b", "/a/..", "..", "a/../b", "/a\n/../b", "/a:b", "a\\b", "7", "H100:8"]


@pytest.mark.parametrize("pattern", patterns())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_pattern_means_the_same_in_ecma_262_and_in_python(pattern: str, data: Any) -> None:
    ecma = Regex(pattern, "u")
    fitting = st.from_regex(pattern) if "(?!" not in pattern else st.text()
    words = [*HOSTILE, data.draw(fitting), data.draw(st.text(alphabet="aZ0./:-_\n\\", max_size=12))]
    for word in words:
        if word.endswith("\n"):
            continue  # in Python `$` also matches before a last line end
        assert (ecma.find(word) is not None) == (re.search(pattern, word) is not None), word


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**33),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.5, 1.0, 1.5, 8, "", "~", "null", "on", "1e5", "0x1f", "1.5", "007", "a b"]),
    st.sampled_from(["x/y", "/a/../b", "a/../../b", "24h", "0h", "24", "16gb", "H100:8", "8Gi"]),
    st.sampled_from(["sha256:" + "0" * 64, "r2", "2026-02-30", "2026-12-31", "ABC"]),
    st.sampled_from(
        ["-x", "x" * 64, "a,b", "$HOME", "true", "e/token", "registry.example.com/a:1"]
    ),
    st.text(max_size=6),
    st.lists(st.integers(0, 9), max_size=2),
    st.dictionaries(st.sampled_from(["a", "min", "/x", "x y"]), st.integers(0, 9), max_size=2),
)
KEYS = st.sampled_from(["a", "x-1", "/data", "NAME", "1", "A B", "x.y/z", "team", ""])


@st.composite
def instances(draw: Any, schema: dict[str, Any], root: dict[str, Any], depth: int = 0) -> Any:
    """Something like an instance of the schema, with now and then a value that is not."""
    if draw(st.integers(0, 9)) == 0:
        return draw(JUNK)
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if "oneOf" in schema:
        return draw(instances(draw(st.sampled_from(schema["oneOf"])), root, depth))
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    kind = schema.get("type")
    if kind == "object":
        properties = schema.get("properties", {})
        names = set(schema.get("required", ()))
        if properties:
            most = 3 if depth else 5
            names |= set(draw(st.lists(st.sampled_from(sorted(properties)), max_size=most)))
        fields = {
            name: draw(instances(properties[name], root, depth + 1)) for name in sorted(names)
        }
        if not properties or draw(st.integers(0, 9)) == 0:
            inner = next(iter(schema.get("patternProperties", {}).values()), None)
            inner = inner or schema.get("additionalProperties") or {}
            for key in draw(st.lists(KEYS, max_size=2, unique=True)):
                fields[key] = draw(instances(inner, root, depth + 1)) if inner else draw(JUNK)
        return fields
    if kind == "array":
        return draw(st.lists(instances(schema["items"], root, depth + 1), max_size=2))
    if kind == "boolean":
        return draw(st.booleans())
    if kind == "integer":
        return draw(st.integers(schema.get("minimum", 0) - 1, schema.get("maximum", 99)))
    if schema.get("examples") and draw(st.booleans()):
        return draw(st.sampled_from(schema["examples"]))
    return draw(JUNK)


def has_odd_pod(value: Any) -> bool:
    """Whether a `pod:` is no mapping: the models leave all of it to the rule `bad-pod-field`."""
    if isinstance(value, list):
        return any(map(has_odd_pod, value))
    if not isinstance(value, dict):
        return False
    odd = "pod" in value and not isinstance(value["pod"], dict)
    return odd or any(map(has_odd_pod, value.values()))


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_a_schema_refuses_the_models_refuse(name: str, data: Any) -> None:
    schema = MADE[name]
    instance = data.draw(instances(schema, schema))
    # JSON is YAML: quoted text stays text, numbers and words are plain scalars.
    source, findings = decode("x.yaml", json.dumps(instance).encode())
    assert source is not None
    if Draft202012Validator(schema).is_valid(instance):
        return
    node, found = read(source)
    findings += found
    if node is not None:
        findings += validate(MODELS[name][0], node, "a file")[1]
    assert findings or has_odd_pod(instance), instance
