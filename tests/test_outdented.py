"""Keys whose indentation is missing are one mistake."""

from __future__ import annotations

import pytest
from declarations import findings, job, spot


@pytest.mark.parametrize(
    ("extra", "place", "message", "remedy"),
    [
        (
            "stop:\ngrace: 60s",
            "8:1",
            "`grace` stands beside `stop`, not below it",
            "write two spaces more before the line of `grace`",
        ),
        (
            "env:\nNCCL_DEBUG: INFO\nOMP_NUM_THREADS: 8",
            "8:1",
            "`NCCL_DEBUG` and `OMP_NUM_THREADS` stand beside `env`, not below it",
            "write two spaces more before the lines of `NCCL_DEBUG` to `OMP_NUM_THREADS`",
        ),
        # Some of them are where they belong.
        (
            "elastic:\n  max_restarts: 3\nbackend: c10d\nnum_nodes: {min: 1, max: 2}",
            "9:1",
            "`backend` stands beside `elastic`, not below it",
            "write two spaces more before the line of `backend`",
        ),
        (
            "env:\n  NCCL_DEBUG: INFO\nOMP_NUM_THREADS: 8",
            "9:1",
            "`OMP_NUM_THREADS` stands beside `env`, not below it",
            "write two spaces more before the line of `OMP_NUM_THREADS`",
        ),
        # Within a mapping, and within the item of a list.
        (
            "sidecars:\n  - name: b\n    image: gpu-exporter\n    env:\n    A: x",
            "11:5",
            "`A` stands beside `env`, not below it",
            "write two spaces more before the line of `A`",
        ),
    ],
)
def test_a_key_beside_the_one_that_it_belongs_to(
    extra: str, place: str, message: str, remedy: str
) -> None:
    (found,) = findings(job(extra))
    assert (found.rule, found.message, found.help) == ("unknown-key", message, remedy)
    assert spot(found) == f"jobs/example.yaml:{place}"
    assert "belong" in found.related[0].message


def test_what_is_wrong_with_the_rest_is_still_told() -> None:
    found = findings(job("retry:\nmax: 3\nfoo: 1\ncolour: red"))
    assert [(item.place.line, item.message) for item in found] == [
        (8, "`max` stands beside `retry`, not below it"),
        (9, "a job has no key `foo`"),
        (10, "a job has no key `colour`"),
    ]


@pytest.mark.parametrize(
    "extra",
    [
        # A misspelt key of the job, and one that another tool has, belong to no variable.
        "env:\n  A: x\nacelerators: H100:8",
        "env:\n  A: x\ntimeout: 3h",
        "env:\n  A: x\nimagePullPolicy: Always",
        "env:\n  A: x\ncolour: red",
        # The mapping in braces is closed.
        "env: {A: x}\nB: y",
        # One that is there already.
        "elastic:\n  backend: c10d\nbackend: etcd\nnum_nodes: {min: 1, max: 2}",
    ],
)
def test_other_keys_that_nobody_knows_are_no_matter_of_indentation(extra: str) -> None:
    found = [item.message for item in findings(job(extra)) if item.rule == "unknown-key"]
    assert len(found) == 1
    assert "stands beside" not in found[0]


def test_policy_is_read_the_same_way() -> None:
    policy = {"policy/rules.yaml": "owners: [kim]\nseverity:\nSEC901: warning\nSEC902: warning\n"}
    (found,) = (item for item in findings(job(), policy) if item.rule == "unknown-key")
    assert spot(found) == "policy/rules.yaml:3:1"
    assert found.message == "`SEC901` and `SEC902` stand beside `severity`, not below it"
