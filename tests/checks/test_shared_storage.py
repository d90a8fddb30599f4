"""Rules about what several jobs do to one claim."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from declarations import TODAY, checked, findings, job, of, only, policy, repository, spot

from compiler.check import check
from compiler.diagnostics import Finding
from compiler.project import Project
from compiler.repository import Repository

WEST = "policy/clusters/west.yaml"
CPU = {
    "accelerators": None,
    "image": "data-tools",
    "checkpoint": None,
    "queue": "data",
    "cpu": "8",
    "memory": "32Gi",
    "command": "[data-tools, clean]",
}


def beside(first: str, second: str, files: Mapping[str, str] | None = None) -> list[Finding]:
    return findings(first, {"jobs/second.yaml": second, **(files or {})}, name="first")


def writing(
    *words: str, mounts: str = "{/out: {claim: logs}}", extra: str = "", **fields: str
) -> str:
    listed = ", ".join(f'"{word}"' for word in words)
    return job(f"mounts: {mounts}\nargs: [{listed}]\n{extra}", **fields)


@pytest.mark.parametrize(
    ("words", "mounts"),
    [
        (["--output_dir", "/out/a"], "{/out: {claim: logs}}"),
        (["--output-dir=/out/a/"], "{/out: {claim: logs}}"),
        (["--save=/results/a"], "{/results: {claim: logs}}"),
        (["trainer.output_dir=/out/a"], "{/out: {claim: logs}}"),
        (["++work_dir='/out/a'"], "{/out: {claim: logs}}"),
        (["--output_dir=/out"], "{/out: {claim: logs, sub_path: a}}"),
        (
            ["--output_dir=/out/x"],
            "{/out: {claim: checkpoints}, /out/x: {claim: logs, sub_path: a}}",
        ),
    ],
)
def test_one_folder_under_any_name_is_a_warning(words: list[str], mounts: str) -> None:
    found = beside(writing("--output_dir=/out/a"), writing(*words, mounts=mounts))
    item = only("output-of-two-runs", found)
    assert item.severity == "warning"
    assert item.message == "`first` writes to /a of the claim `logs` too"
    assert (item.place.path, item.place.line) == ("jobs/second.yaml", 8)
    assert [related.place.path for related in item.related] == ["jobs/first.yaml"]


def test_a_variable_may_name_the_folder() -> None:
    second = job("mounts: {/out: {claim: logs}}\nenv: {ROOT: /out, OUTPUT_DIR: $(ROOT)/a}")
    item = only("output-of-two-runs", beside(writing("--output_dir=/out/a"), second))
    assert spot(item) == "jobs/second.yaml:8:31"


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(writing("--output_dir=/out/b"), id="another folder"),
        pytest.param(writing("--output_dir=/out/a/b"), id="a folder inside"),
        pytest.param(writing("--output_dir=/out/$(RUN_NAME)"), id="a folder of each run"),
        pytest.param(writing("--data_dir=/out/a"), id="what is read"),
        pytest.param(writing("--log_dir=/out/a"), id="what programs only begin with"),
        pytest.param(writing("--output_dir=/tmp/a"), id="no claim"),
        pytest.param(writing("--output_dir=a"), id="a relative path"),
        pytest.param(
            writing("--output_dir=/out/a", mounts="{/out: {claim: checkpoints}}"),
            id="another claim",
        ),
        pytest.param(
            writing("--output_dir=/out/a", mounts="{/out: {claim: logs, sub_path: b}}"),
            id="another folder of the claim",
        ),
        pytest.param(
            writing("--output_dir=/out/a", mounts="{/out: {claim: logs, read_only: true}}"),
            id="a claim that is only read",
        ),
        pytest.param(writing("--output_dir=/out/a", extra="state: stopped"), id="a stopped job"),
        pytest.param(
            writing(
                "--output_dir=/out/a",
                team="vision",
                image="vit",
                command="[torchrun, -m, vit.train]",
            ),
            id="another team",
        ),
    ],
)
def test_folders_that_are_not_shared_are_left_alone(second: str) -> None:
    assert [item.message for item in beside(writing("--output_dir=/out/a"), second)] == []


def test_checkpoints_of_two_jobs_have_folders_of_their_own() -> None:
    assert beside(job(), job()) == []


def test_the_same_job_on_two_clusters_shares_nothing() -> None:
    text = job(
        "mounts: {/out: {claim: logs}}\nargs: [--output_dir=/out/a]\ncluster: [west, east]",
        team="vision",
        image="vit",
        accelerators="A100-80GB:8",
        command="[torchrun, -m, vit.train]",
    )
    assert of("output-of-two-runs", findings(text)) == []


def test_one_claim_for_one_node_in_two_jobs_is_a_warning() -> None:
    text = job("mounts: {/raw: {claim: raw}}", **CPU)
    item = only("claim-of-two-runs", beside(text, text))
    assert item.severity == "warning"
    assert spot(item) == "jobs/second.yaml:8:24"
    assert item.message.startswith("`first` mounts `raw` too, and it is ReadWriteOnce: one node")
    assert [related.place.path for related in item.related] == ["jobs/first.yaml", WEST]


def test_a_claim_for_one_pod_says_so() -> None:
    files = policy(WEST, ("raw: {access: ReadWriteOnce,", "raw: {access: ReadWriteOncePod,"))
    text = job("mounts: {/raw: {claim: raw, read_only: true}}", **CPU)
    item = only("claim-of-two-runs", beside(text, text, files))
    assert "one pod at a time" in item.message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (job("mounts: {/raw: {claim: raw}}"), job("state: stopped\nmounts: {/raw: {claim: raw}}")),
        (job("mounts: {/raw: {claim: raw}}"), job("mounts: {/raw: {claim: logs}}")),
        (
            job("mounts: {/raw: {claim: raw}}"),
            job(
                "mounts: {/raw: {claim: raw}}",
                team="vision",
                image="vit",
                command="[torchrun, -m, vit.train]",
            ),
        ),
    ],
)
def test_claims_that_one_run_at_a_time_mounts_are_left_alone(first: str, second: str) -> None:
    assert beside(first, second) == []


def test_what_is_remembered_finds_the_same() -> None:
    """The second check reads folders and places from its memory."""
    text = writing("--output_dir=/out/a", mounts="{/out: {claim: logs}, /raw: {claim: raw}}")
    with TemporaryDirectory() as folder:
        root = repository(Path(folder), {"jobs/first.yaml": text, "jobs/second.yaml": text})
        first = checked(root)
        # One more job, so that jobs are put together again.
        (root / "jobs/third.yaml").write_text(text, "utf-8")
        again = check(Project(Repository(root), at=TODAY), processes=1).findings
    assert sorted(item.rule for item in first) == ["claim-of-two-runs", "output-of-two-runs"]
    assert set(first) < set(again)
    assert sorted(item.rule for item in again) == sorted(2 * [item.rule for item in first])
