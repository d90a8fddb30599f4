"""Rules about what is left when a run is stopped, or begins again."""

from __future__ import annotations

import pytest
from declarations import findings, job, only, spot

from compiler.diagnostics import Severity

IMAGE = "images/llm-sft/image.yaml"


def image(torch: str = "2.13.0", takes: str = "") -> dict[str, str]:
    line = f"checkpoint_takes: {takes}\n" if takes else ""
    return {IMAGE: f"entry: [torchrun, train.py]\ntorch: {torch}\n{line}"}


def bare(extra: str = "", **fields: str | None) -> str:
    """A job of an image that needs no checkpoint, without one."""
    return job(extra, **{"checkpoint": None, "image": "ddp-mini", **fields})


def test_a_grace_that_is_too_short_for_a_checkpoint_is_a_warning() -> None:
    found = findings(job("stop: {grace: 1m}"), image(takes="90s"))
    item = only("grace-shorter-than-checkpoint", found)
    assert item.severity is Severity.WARNING
    assert spot(item) == "jobs/example.yaml:7:15"
    assert item.message == "1m to stop, and a checkpoint of `llm-sft` takes 1m30s"
    assert item.help == "write stop: {grace: 3m}"
    assert [related.place.path for related in item.related] == [IMAGE]


def test_the_team_s_grace_counts_as_well() -> None:
    item = only("grace-shorter-than-checkpoint", findings(job(), image(takes="6m")))
    assert item.place.path == "policy/teams/nlp.yaml"


@pytest.mark.parametrize(
    ("text", "files"),
    [
        (job("stop: {grace: 2m}"), image(takes="2m")),
        (job("stop: {grace: 1s}"), image()),
        (bare("stop: {grace: 1s}", max_duration="1h", image="llm-sft"), image(takes="2m")),
    ],
)
def test_a_grace_that_suffices_is_left_alone(text: str, files: dict[str, str]) -> None:
    assert [item.message for item in findings(text, files)] == []


def test_deepspeed_kills_its_processes_after_half_a_minute() -> None:
    item = only(
        "grace-beyond-launcher", findings(job("stop: {grace: 5m}\ncommand: [deepspeed, t.py]"))
    )
    assert spot(item) == "jobs/example.yaml:7:15"
    assert "`deepspeed` kills its processes after 30 s" in item.message
    assert [related.place.line for related in item.related] == [8]


@pytest.mark.parametrize(
    ("extra", "place", "named"),
    [
        ("command: [torchrun, --shutdown_timeout=60, t.py]", "8:21", "`--shutdown_timeout=60`"),
        ("env: {TORCH_ELASTIC_SHUTDOWN_TIMEOUT: '60'}", "8:39", "TIMEOUT is 60"),
    ],
)
def test_a_timeout_that_wastes_the_grace_is_a_warning(extra: str, place: str, named: str) -> None:
    item = only("grace-beyond-launcher", findings(job(f"stop: {{grace: 10m}}\n{extra}")))
    assert spot(item) == f"jobs/example.yaml:{place}"
    assert named in item.message
    assert "after 60 s, and the run has 10m to stop" in item.message


@pytest.mark.parametrize(
    "extra",
    [
        "command: [torchrun, --shutdown_timeout=590, t.py]",
        "command: [torchrun, --shutdown_timeout=$(T), t.py]\nenv: {T: '595'}",
        "env: {TORCH_ELASTIC_SHUTDOWN_TIMEOUT: '580'}",
        "command: [./train.sh]",
    ],
)
def test_a_timeout_near_the_grace_is_left_alone(extra: str) -> None:
    assert [item.message for item in findings(job(f"stop: {{grace: 10m}}\n{extra}"))] == []


def test_long_retries_from_nothing_are_a_warning() -> None:
    item = only("retry-without-checkpoint", findings(bare("retry: {max: 3}")))
    assert item.severity is Severity.WARNING
    assert spot(item) == "jobs/example.yaml:6:14"
    assert "up to 4 tries begins from nothing, and all share 24h" in item.message
    assert [related.place.line for related in item.related] == [5]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(job("retry: {max: 3}"), id="a checkpoint"),
        pytest.param(bare("retry: {max: 0}"), id="no retry"),
        pytest.param(bare("retry: {max: 3}", max_duration="4h"), id="a short run"),
        pytest.param(bare("retry: {max: 3}\nmounts: {/out: {claim: logs}}"), id="a claim"),
        pytest.param(bare("retry: {max: 3}\nargs: [--out, 's3://bucket/run']"), id="a store"),
        pytest.param(
            bare("retry: {max: 3}\nsecrets: {AWS_SECRET_ACCESS_KEY: store/key}", team="vision"),
            id="access to a store",
        ),
    ],
)
def test_retries_that_may_go_on_from_something_are_left_alone(text: str) -> None:
    assert [item.message for item in findings(text)] == []


def test_a_claim_that_is_only_read_keeps_nothing() -> None:
    text = bare("retry: {max: 3}\nmounts: {/data: {claim: datasets, read_only: true}}")
    only("retry-without-checkpoint", findings(text))
