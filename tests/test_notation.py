"""Values in another notation: one finding each, which says precisely what to write."""

from __future__ import annotations

import pytest
from declarations import findings, job, only

# The field, what stands there, the rule, and the end of the help.
CASES = [
    ("retry", "3", "wrong-type", "write {max: 3}"),
    ("retry", "[max: 3]", "wrong-type", "write {max: 3}"),
    ("retry", "{max:3}", "unknown-key", "write `max: 3`"),
    ("retry", "{max=3}", "unknown-key", "write `max: 3`"),
    ("retry", "{max 3}", "unknown-key", "write `max: 3`"),
    ("retry", "{max3}", "unknown-key", "write `max: 3`"),
    (
        "retry",
        "max: 3",
        "syntax-error",
        'write `retry: {max: 3}`, or the text in quotes: `"max: 3"`',
    ),
    ("num_nodes", "2-4", "wrong-type", "write {min: 2, max: 4}"),
    ("num_nodes", "2..4", "wrong-type", "write {min: 2, max: 4}"),
    ("num_nodes", "2 to 4", "wrong-type", "write {min: 2, max: 4}"),
    ("num_nodes", "2,4", "wrong-type", "write {min: 2, max: 4}"),
    ("num_nodes", "4-2", "wrong-type", "write {min: 2, max: 4}"),
    ("num_nodes", "[2, 4]", "wrong-type", "write {min: 2, max: 4}"),
    ("num_nodes", "{2, 4}", "unknown-key", "write {min: 2, max: 4}"),
    ("num_nodes", "{min: 2 max: 4}", "syntax-error", "write `2, max: 4`"),
    ("num_nodes", "1,000", "wrong-type", "write 1000"),
    ("stop", "5m", "wrong-type", "write {grace: 5m}"),
    ("topology", "rack", "wrong-type", "write {required: rack}"),
    ("checkpoint", "/ckpt", "wrong-type", "write {claim: checkpoints, path: /ckpt}"),
    ("mounts", "{/data: datasets}", "wrong-type", "write {claim: datasets}"),
    ("mounts", "{/tmp: 10Gi}", "wrong-type", "write {scratch: 10Gi}"),
    ("mounts", "{/data: {claim:datasets}}", "unknown-key", "write `claim: datasets`"),
    (
        "checkpoint",
        "{claim: checkpoints, path: /ckpt, every: 1h, 30m}",
        "unknown-key",
        'write `every: "1h, 30m"` if it belongs to the text',
    ),
    ("env", "[{name: A, value: b}]", "wrong-type", "write {A: b}"),
    (
        "env",
        "[{name: A, value: ''}, {name: B, value: 'c, d'}]",
        "wrong-type",
        'write {A: "", B: "c, d"}',
    ),
    ("env", "[A=b, C=]", "wrong-type", 'write {A: b, C: ""}'),
    ("env", "[{A: b}, {C: d}]", "wrong-type", "write {A: b, C: d}"),
    (
        "env",
        "[{name: A, value: b}, {name: T, valueFrom: {secretKeyRef: {name: hf, key: token}}}]",
        "wrong-type",
        "write {A: b}, and in `secrets:` {T: hf/token}",
    ),
    ("env", "[{name: A, valueFrom: {fieldRef: {fieldPath: b}}}]", "wrong-type", "(key: value)"),
    ("env", "[A, B]", "wrong-type", "write a mapping (key: value)"),
    (
        "secrets",
        "[{name: T, valueFrom: {secretKeyRef: {name: hf, key: token}}}]",
        "wrong-type",
        "write {T: hf/token}",
    ),
    ("labels", "[{key: a, value: b}]", "wrong-type", "write {a: b}"),
    ("ports", "[{containerPort: 9400, name: metrics}]", "wrong-type", "write {metrics: 9400}"),
    (
        "ports",
        "[{containerPort: 9400}, '80:8080']",
        "wrong-type",
        "{port-9400: 9400, port-8080: 8080}",
    ),
    (
        "mounts",
        "[{name: models, mountPath: /models}]",
        "wrong-type",
        "write {/models: {claim: models}}",
    ),
    (
        "mounts",
        "[{name: models, mountPath: /models, readOnly: true, subPath: a}]",
        "wrong-type",
        "write {/models: {claim: models, read_only: true, sub_path: a}}",
    ),
    (
        "mounts",
        "[{/models: {claim: models}}]",
        "wrong-type",
        "write {/models: {claim: models}}",
    ),
    (
        "mounts",
        "['models:/models:ro']",
        "wrong-type",
        "write {/models: {claim: models, read_only: true}}",
    ),
    ("files", "['./a.yaml:/etc/a.yaml']", "wrong-type", "write {/etc/a.yaml: a.yaml}"),
    ("env", "{A: a, b}", "empty-value", 'if the comma is text, write `A: "a, b"`'),
    ("args", "{data: a, b}", "empty-value", 'if the comma is text, write `data: "a, b"`'),
]


@pytest.mark.parametrize(("field", "value", "rule", "remedy"), CASES)
def test_the_help_is_what_to_write(field: str, value: str, rule: str, remedy: str) -> None:
    item = only(rule, findings(job(**{field: value})))
    assert item.help.endswith(remedy)
    assert item.place.line == (6 if field == "checkpoint" else 7)


def test_two_keys_with_their_values_in_them_are_two_findings() -> None:
    found = findings(job(num_nodes="{min:2, max:4}"))
    assert [(item.rule, item.help) for item in found] == [
        ("unknown-key", "write `min: 2`"),
        ("unknown-key", "write `max: 4`"),
    ]


@pytest.mark.parametrize("value", ["{min: 2, max: }", "{min: 2, max}"])
def test_a_key_that_there_is_needs_its_value(value: str) -> None:
    item = only("empty-value", findings(job(num_nodes=value)))
    assert "comma" not in item.help


@pytest.mark.parametrize("amount", ["512m", "1000m", "0.5m"])
@pytest.mark.parametrize("kind", ["limits", "requests", "limits, requests"])
def test_thousandths_of_a_byte_are_one_finding_each(amount: str, kind: str) -> None:
    kinds = kind.split(", ")
    resources = ", ".join(f"{one}: {{memory: {amount}}}" for one in kinds)
    pod = f"pod: {{spec: {{containers: [{{name: pytorch, resources: {{{resources}}}}}]}}}}"
    found = findings(job(pod))
    assert [item.rule for item in found] == ["bad-pod-field"] * len(kinds)
