"""What is learned and how it is run: which edits change which digest."""

from __future__ import annotations

from pathlib import Path

import pytest
from declarations import job, repository

from compiler.digests import operation, training
from compiler.project import Project
from compiler.repository import Repository


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(Repository(repository(tmp_path_factory.mktemp("digests") / "repository")))


def digests(project: Project, text: str) -> tuple[str, str]:
    path = project.repository.root / "jobs" / "example.yaml"
    result = project.judge(path, text.encode())
    assert [item.message for item in result.findings if item.severity == "error"] == []
    run = result.models["west"]
    return training(run), operation(run)


BOTH = (True, True)
TRAINING = (False, True)
OPERATION = (True, False)

EDITS = {
    "comments and order": (job() + "# a comment\n", BOTH),
    "a description": (job("description: other words"), BOTH),
    "an owner": (job("owner: kim"), BOTH),
    "an expiry": (job("expires: 2099-01-01"), BOTH),
    "a cost limit": (job("max_cost: 100000"), BOTH),
    "the same duration in minutes": (job(max_duration="1440m"), BOTH),
    "a default written out": (job("retry: {max: 0}"), BOTH),
    "the arguments": (job("args: {learning_rate: 2e-5}"), TRAINING),
    "a variable": (job("env: {SEED: 1}"), TRAINING),
    "a secret": (job("secrets: {HF_TOKEN: hf/token}"), TRAINING),
    "a mount": (job("mounts: {/data: {claim: datasets, read_only: true}}"), TRAINING),
    "the checkpoint's folder": (
        job(checkpoint="{claim: checkpoints, path: /other}"),
        (False, False),
    ),
    "rerun": (job("rerun: 2"), TRAINING),
    "an operational variable": (job("env: {NCCL_DEBUG: INFO}"), OPERATION),
    "an operational secret": (job("secrets: {NCCL_NET_PLUGIN: hf/plugin}"), OPERATION),
    "the duration": (job(max_duration="25h"), OPERATION),
    "the nodes": (job(num_nodes="2"), OPERATION),
    "the queue's priority": (job("priority: high"), OPERATION),
    "the grace": (job("stop: {grace: 1h}"), OPERATION),
    "how often it is saved": (
        job(checkpoint="{claim: checkpoints, path: /ckpt, every: 31m, keep: 3}"),
        OPERATION,
    ),
    "a label of the pods": (job("labels: {example.com/a: b}"), OPERATION),
    "a field of the pod": (job("pod: {spec: {hostname: a}}"), OPERATION),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_changes_just_its_digest(project: Project, edit: str) -> None:
    before = digests(project, job())
    text, same = EDITS[edit]
    after = digests(project, text)
    assert (before[0] == after[0], before[1] == after[1]) == same


def test_another_secret_of_an_operational_variable_is_another_operation(project: Project) -> None:
    one = digests(project, job("secrets: {NCCL_NET_PLUGIN: hf/one}"))
    two = digests(project, job("secrets: {NCCL_NET_PLUGIN: hf/two}"))
    assert one[0] == two[0]
    assert one[1] != two[1]


def test_digests_do_not_depend_on_the_hash_seed(project: Project, tmp_path: Path) -> None:
    import os
    import subprocess
    import sys

    script = (
        "from pathlib import Path; from compiler.project import Project;"
        "from compiler.repository import Repository; from compiler.digests import *;"
        f"p = Project(Repository(Path({str(project.repository.root)!r})));"
        "path = p.repository.root / 'jobs' / 'example.yaml';"
        f"r = p.judge(path, {job().encode()!r}).models['west'];"
        "print(training(r), operation(r))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[1],
        ).stdout
        for seed in ("1", "2")
    }
    assert seen == {" ".join(digests(project, job())) + "\n"}
