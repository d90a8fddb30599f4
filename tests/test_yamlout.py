"""What the YAML printer writes, letter for letter, and what it refuses to write."""

import subprocess
import sys
from collections import OrderedDict
from enum import IntEnum, StrEnum
from typing import Any

import pytest
import yaml

from compiler.yamlout import dump, dump_all

JOB = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "llm-sft-r1", "labels": {"kueue.x-k8s.io/queue-name": "gpu"}},
    "spec": {
        "nprocPerNode": "8",
        "runPolicy": {"backoffLimit": 3},
        "pytorchReplicaSpecs": {
            "Worker": {
                "replicas": 2,
                "template": {
                    "metadata": {"annotations": {"sidecar.istio.io/inject": "false"}},
                    "spec": {
                        "containers": [
                            {
                                "name": "pytorch",
                                "command": ["bash", "-c"],
                                "args": ["set -eu\n\ntorchrun train.py\n", "--lr", "1e-5"],
                                "env": [
                                    {"name": "EPOCHS", "value": "10"},
                                    {"name": "DEBUG", "value": "true"},
                                ],
                                "securityContext": {},
                                "envFrom": [],
                                "volumeMounts": [{"name": "data", "readOnly": True}],
                            }
                        ],
                        "terminationMessagePath": None,
                    },
                },
            }
        },
    },
}

PRINTED_JOB = """\
apiVersion: "kubeflow.org/v1"
kind: "PyTorchJob"
metadata:
  name: "llm-sft-r1"
  labels:
    kueue.x-k8s.io/queue-name: "gpu"
spec:
  nprocPerNode: "8"
  runPolicy:
    backoffLimit: 3
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        metadata:
          annotations:
            sidecar.istio.io/inject: "false"
        spec:
          containers:
            - name: "pytorch"
              command:
                - "bash"
                - "-c"
              args:
                - |
                  set -eu

                  torchrun train.py
                - "--lr"
                - "1e-5"
              env:
                - name: "EPOCHS"
                  value: "10"
                - name: "DEBUG"
                  value: "true"
              securityContext: {}
              envFrom: []
              volumeMounts:
                - name: "data"
                  readOnly: true
          terminationMessagePath: null
"""


def test_a_job_is_printed_in_block_style_in_the_order_given() -> None:
    assert dump(JOB) == PRINTED_JOB


@pytest.mark.parametrize(
    "text",
    [
        *("on", "y", "NO", "true", "null", "~", "1e-5", "010", "0o10", "1_000", "12:30:00"),
        *("2024-01-01", ".inf", "=", "<<", "&a", "*a", "!a", "%a", "@a"),
        *("", " ", "- a", "a: b", "a #b", "{}"),
    ],
)
def test_text_that_looks_like_something_else_is_quoted(text: str) -> None:
    assert dump({"FLAG": text, "args": [text]}) == f'FLAG: "{text}"\nargs:\n  - "{text}"\n'


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ('say "hi"', r'"say \"hi\""'),
        ("a\\b", r'"a\\b"'),
        ("a\tb", r'"a\tb"'),
        ("a\rb", r'"a\rb"'),
        ("\x00\x1b", r'"\u0000\u001b"'),
        ("a\x7fb", r'"a\u007fb"'),
        ("a\x85b", r'"a\u0085b"'),
        ("é\x9f\xa0", r'"é\u009f\u00a0"'),
        ("a\u2028b\u2029", r'"a\u2028b\u2029"'),
        ("\ufeffa", r'"\ufeffa"'),
        ("\ufffe\uffff", r'"\ufffe\uffff"'),
        ("user\u202egnp", r'"user\u202egnp"'),
        ("zero\u200bwidth", r'"zero\u200bwidth"'),
        ("tag\U000e0041", r'"tag\U000e0041"'),
        ("naïve 模型 🚀", '"naïve 模型 🚀"'),
        ('é \\ " \n', r'"é \\ \" \n"'),
        ("'single'", "\"'single'\""),
        ("$HOME ${HOME} $(NAME) $$(NAME) $$", '"$HOME ${HOME} $(NAME) $$(NAME) $$"'),
    ],
)
def test_text_is_escaped_only_where_a_reader_or_reviewer_needs_it(text: str, printed: str) -> None:
    assert dump({"value": text}) == f"value: {printed}\n"
    assert dump([text]) == f"- {printed}\n"
    assert dump(text) == f"{printed}\n"


@pytest.mark.parametrize("length", [80, 120, 5_000, 200_000])
def test_long_text_is_not_folded(length: int) -> None:
    words = ("word " * length)[:length]
    assert dump({"args": [words]}) == f'args:\n  - "{words}"\n'
    assert dump({"a": {"b": words + "é"}}) == f'a:\n  b: "{words}é"\n'
    assert dump({"a": f"{words}.\nend\n"}) == f"a: |\n  {words}.\n  end\n"


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a\n", "|\n  a\n"),
        ("a\nb", "|-\n  a\n  b\n"),
        ("a\n\n\nb\n", "|\n  a\n\n\n  b\n"),
        ("if x:\n    y\n  z\n", "|\n  if x:\n      y\n    z\n"),
        ("# note\n---\n...\n%a\n", "|\n  # note\n  ---\n  ...\n  %a\n"),
        ("echo \"$(date)\" \\\n  'x'\n", "|\n  echo \"$(date)\" \\\n    'x'\n"),
        ("a\tb\né 🚀\n", "|\n  a\tb\n  é 🚀\n"),
    ],
)
def test_a_script_is_a_literal_block(text: str, printed: str) -> None:
    assert dump({"run": text}) == f"run: {printed}"


@pytest.mark.parametrize(
    "text",
    [
        "\n",
        "\n\n",
        "\na\n",
        " a\nb\n",
        "\ta\nb\n",
        "a \nb\n",
        "a\t\nb\n",
        "a\u3000\nb\n",
        "a\nb ",
        "a\n  \nb\n",
        "a\n\tb\n",
        "a\nb\n\n",
        "a\r\nb\r\n",
        "a\nb\x85c\n",
        "a\nb\u2028c\n",
        "a\nb\xa0\n",
        "a\n\ufeffb\n",
        "a\n\x7fb\n",
        "a\n\x1b[0m\n",
        "a\n\u202eb\n",
    ],
)
def test_text_that_a_block_would_lose_or_hide_is_one_quoted_line(text: str) -> None:
    printed = dump({"run": text})
    assert printed.startswith('run: "')
    assert printed.count("\n") == 1
    assert yaml.load(printed, yaml.CSafeLoader) == {"run": text}


@pytest.mark.parametrize(
    "key",
    [
        *("a", "A", "name", "nvidia.com/gpu", "sidecar.istio.io/inject", "a-b_c.d/e", "yes-no"),
        *("nil", "NCCL_DEBUG"),
        "x" * 253 + "/" + "y" * 63,
    ],
)
def test_a_safe_key_is_bare(key: str) -> None:
    assert dump({key: 1}) == f"{key}: 1\n"


@pytest.mark.parametrize(
    "key",
    [
        *("y", "N", "yes", "No", "ON", "off", "true", "FALSE", "Null", "~", "1e3", "010", "0x1f"),
        *("2024-01-01", ".inf", "-", "-a", "=", "<<", "?", "_a", "/a", "é"),
        *("", "a b", "a:b", "a#b"),
    ],
)
def test_a_key_that_a_reader_could_take_for_something_else_is_quoted(key: str) -> None:
    assert dump({key: 1}) == f'"{key}": 1\n'


def test_a_key_is_escaped_like_text() -> None:
    assert dump({'a"\n\x7f\u2028': "b"}) == '"a\\"\\n\\u007f\\u2028": "b"\n'
    assert dump({"a\n": "b"}) == '"a\\n": "b"\n'


def test_keys_up_to_the_limit_of_yaml_are_printed_and_longer_ones_refused() -> None:
    longest = "x" * 1024
    assert dump({longest: 1}) == f"{longest}: 1\n"
    quoted = " " * 1022
    assert dump({quoted: 1}) == f'"{quoted}": 1\n'
    for too_long in ("x" * 1025, " " * 1023, "é" * 512):
        with pytest.raises(ValueError, match="at most 1024 bytes"):
            dump({too_long: 1})


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (0, "0"),
        (-1, "-1"),
        (1_000_000, "1000000"),
        (2**63 - 1, "9223372036854775807"),
        (-(2**63), "-9223372036854775808"),
        (True, "true"),
        (False, "false"),
        (None, "null"),
        ({}, "{}"),
        ([], "[]"),
        ("", '""'),
    ],
)
def test_plain_values_and_empty_collections_stand_on_the_line_of_their_key(
    value: object, printed: str
) -> None:
    assert dump({"key": value}) == f"key: {printed}\n"
    assert dump({"list": [value]}) == f"list:\n  - {printed}\n"
    assert dump(value) == f"{printed}\n"


def test_lists_in_lists_and_mappings_in_lists_are_compact() -> None:
    document = {"a": [[1, [2, 3]], [{"b": [{"c": 1, "d": {"e": "f\ng"}}], "h": 2}], [[]], [{}]]}
    printed = """\
a:
  - - 1
    - - 2
      - 3
  - - b:
        - c: 1
          d:
            e: |-
              f
              g
      h: 2
  - - []
  - - {}
"""
    assert dump(document) == printed
    assert yaml.safe_load(printed) == document


def test_a_list_at_the_top_has_no_indentation() -> None:
    patch = [{"op": "add", "path": "/spec", "value": {"a": 1}}, "x\ny\n"]
    printed = '- op: "add"\n  path: "/spec"\n  value:\n    a: 1\n- |\n  x\n  y\n'
    assert dump(patch) == printed
    assert yaml.safe_load(printed) == patch


def test_what_is_shared_is_printed_in_full_at_every_place() -> None:
    env = [{"name": "A", "value": "1"}]
    printed = dump({"Master": env, "Worker": env})
    assert "&" not in printed
    assert "*" not in printed
    assert printed.count('- name: "A"') == 2


def test_the_order_of_the_data_is_kept_and_does_not_depend_on_the_hash_seed() -> None:
    program = (
        "from compiler.yamlout import dump;"
        "print(dump({'b': {'z': 1, 'a': 2}, 'a': 'x', 'on': [3, 1]}), end='')"
    )
    for seed in ("0", "1"):
        run = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            check=True,
            text=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        )
        assert run.stdout == 'b:\n  z: 1\n  a: 2\na: "x"\n"on":\n  - 3\n  - 1\n'


class Mode(StrEnum):
    FAST = "fast"


class Level(IntEnum):
    LOW = 1


@pytest.mark.parametrize(
    "value", [1.0, float("nan"), b"a", (1,), {1}, object(), Mode.FAST, Level.LOW, OrderedDict(a=1)]
)
def test_types_that_are_not_plain_data_are_refused(value: object) -> None:
    for document in (value, {"a": value}, {"a": [value]}, [{"a": {"b": value}}]):
        with pytest.raises(TypeError, match=f"cannot print {type(value).__name__}"):
            dump(document)


@pytest.mark.parametrize("key", [1, True, None, 1.5, b"a", ("a",)])
def test_keys_that_are_not_text_are_refused(key: object) -> None:
    with pytest.raises(TypeError, match=f"a key is text, not {type(key).__name__}"):
        dump({"a": {key: "b"}})


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "a\n\ud83d\ude00\n"])
def test_lone_surrogates_are_refused_in_values_and_keys(text: str) -> None:
    for document in ({"a": text}, [text], text, {text: "a"}):
        with pytest.raises(ValueError, match="lone surrogate"):
            dump(document)


@pytest.mark.parametrize(
    "number", [2**63, -(2**63) - 1, 1 << 20_000], ids=["one up", "one down", "huge"]
)
def test_integers_that_kubectl_would_round_are_refused(number: int) -> None:
    with pytest.raises(ValueError, match="more than 64 bits"):
        dump({"a": number})


def test_several_documents_are_separated_by_a_line_and_read_back_apart() -> None:
    documents: list[Any] = [JOB, {"a": "b\n---\nc"}, {}, {"d": "---"}]
    printed = dump_all(documents)
    assert printed.startswith(PRINTED_JOB + "---\na: |-\n")
    assert list(yaml.safe_load_all(printed)) == documents
    assert dump_all(iter([JOB])) == PRINTED_JOB
    assert dump_all([]) == ""
