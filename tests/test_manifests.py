"""Objects read from YAML as Kubernetes reads them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.manifests import Unreadable, parse, resolve

# Bare scalars and what kubectl 1.32 makes of them (`kubectl create --dry-run=client -o json`).
BARE = [
    ("on", True),
    ("y", True),
    ("NO", False),
    ("off", False),
    ("yEs", "yEs"),
    ("true", True),
    ("010", 8),
    ("08", 8),
    ("0o10", 8),
    ("0x1F", 31),
    ("0b11", 3),
    ("-0x1F", -31),
    ("1_000", 1000),
    ("1e-5", 0.00001),
    ("1e-05", 0.00001),
    ("1e5", 100000),
    ("1.0", 1),
    (".5", 0.5),
    ("+3", 3),
    ("-12", -12),
    ("123456789012345678901", 1.2345678901234568e20),
    ("9223372036854775807", 9223372036854775807),
    ("18446744073709551615", 18446744073709551615.0),
    ("96e9207379319531", "96e9207379319531"),
    ("-1e999", "-1e999"),
    ("1e-999", 0),
    ("9" * 400, "9" * 400),
    ("2024-01-01", "2024-01-01"),
    ("12:30:45", "12:30:45"),
    ("null", None),
    ("~", None),
    ("=", "="),
    ("1.2.3", "1.2.3"),
    ("1e", "1e"),
    ("8Gi", "8Gi"),
    (".", "."),
]


@pytest.mark.parametrize(("text", "value"), BARE)
def test_a_bare_scalar_means_what_it_means_to_kubernetes(text: str, value: object) -> None:
    got = resolve(text)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.kustomize
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl here")
def test_kubectl_agrees_on_bare_scalars(tmp_path: Path) -> None:
    lines = [f"  k{i}: {text}" for i, (text, _) in enumerate(BARE)]
    file = tmp_path / "a.yaml"
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nspec:\n"
    file.write_text(head + "\n".join(lines) + "\n")
    done = subprocess.run(
        ["kubectl", "patch", "--local", "-f", str(file), "-p", "{}", "--type=merge", "-o", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    # Go prints a large float without an exponent; to Python that is an integer again.
    spec = json.loads(done.stdout, parse_int=resolve)["spec"]
    assert spec == parse(file.read_text())[0]["spec"]


def test_quoted_text_and_blocks_stay_text() -> None:
    assert parse("a: \"1\"\nb: 'on'\nc: |\n  1\nd: >-\n  true\n") == [
        {"a": "1", "b": "on", "c": "1\n", "d": "true"}
    ]


def test_keys_stay_text() -> None:
    assert parse("1: a\non: b\n'': c\n") == [{"1": "a", "on": "b", "": "c"}]


def test_several_documents_come_in_order_and_empty_ones_are_skipped() -> None:
    assert parse("---\na: 1\n---\n---\n# nothing\n---\nb: 2\n") == [{"a": 1}, {"b": 2}]
    assert parse("") == []


@pytest.mark.parametrize(
    "text",
    ["a: [", "- a\n", "text\n", "? {a: b}\n: c\n", "a: !x b\n", "a: !!map {}\n", "a: .nan\n"],
)
def test_what_is_no_object_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse(text)


# Unicode that a YAML reader takes raw; controls need escapes that JSON and YAML write alike.
letters = st.characters(exclude_categories=("Cs", "Cc", "Cn"), exclude_characters="\ufeff")
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(letters | st.sampled_from("\n\t\0\r\x1b")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(letters), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(letters, max_size=20), json_values, max_size=5))
def test_json_is_read_as_itself(value: dict[str, object]) -> None:
    assert parse(json.dumps(value, ensure_ascii=False)) == [value]
