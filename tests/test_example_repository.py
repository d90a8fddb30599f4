"""The repository itself is an example: its bases, its policy and its jobs hold together."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from compiler.declaration import Declaration
from compiler.project import Project
from compiler.repository import Repository

ROOT = Path(__file__).parents[1]
JOBS = sorted((ROOT / "jobs").rglob("*.yaml"))
WRITTEN = [
    *JOBS,
    *sorted((ROOT / "policy").rglob("*.yaml")),
    *sorted((ROOT / "images").rglob("*.yaml")),
]
BASES = sorted(path for path in (ROOT / "base").iterdir() if path.is_dir())


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def project() -> Project:
    return Project(Repository.find(ROOT, explicit=True))


@pytest.mark.parametrize("path", JOBS, ids=name)
def test_every_example_job_is_clean_and_runs(project: Project, path: Path) -> None:
    result = project.judge(path)
    assert [finding.message for finding in result.findings] == []
    assert [made.run.identity.cluster for made in result.runs] == list(result.clusters)


def test_policy_and_bases_are_clean(project: Project) -> None:
    findings = [*project.policy.findings, *project.base_findings]
    assert [finding.message for finding in findings] == []
    assert set(project.bases) == {path.name for path in BASES}


def test_the_examples_use_every_cluster_team_and_image(project: Project) -> None:
    runs = [made for result in project.results() for made in result.runs]
    assert {made.run.identity.cluster for made in runs} == set(project.policy.clusters)
    assert {made.run.identity.team for made in runs} == set(project.policy.teams)
    assert project.policy.lock is not None
    containers = [
        container.image.name
        for made in runs
        for member in made.run.members
        for container in (member, *member.sidecars, *member.init)
    ]
    assert set(containers) == set(project.policy.lock.value.images)


def test_the_examples_show_every_field_of_a_job(project: Project) -> None:
    written = {key for path in JOBS for key in yaml.safe_load(path.read_text())}
    # A field that no example shows is one that nobody finds; these need a story of their own.
    untold = {
        "was",
        "rerun",
        "waive",
        "expires",
        "host_network",
        "pull",
        "annotations",
        "resources",
    }
    known = {info.alias or field for field, info in Declaration.model_fields.items()}
    assert known - written == untold


@pytest.mark.parametrize("path", WRITTEN, ids=name)
def test_every_file_tells_the_editor_its_schema(path: Path) -> None:
    match = re.match(r"# yaml-language-server: \$schema=(\S+)\n", path.read_text())
    assert match is not None
    assert (path.parent / match[1]).resolve().is_relative_to(ROOT / "schemas")
    assert (path.parent / match[1]).is_file()


@pytest.mark.parametrize("base", BASES, ids=lambda path: path.name)
def test_a_base_leaves_the_fields_of_the_compiler_alone(base: Path) -> None:
    (manifest,) = yaml.safe_load_all((base / "job.yaml").read_text())
    text = yaml.safe_dump(manifest)
    forbidden = (
        "ttlSecondsAfterFinished",
        "suspend",
        "backoffLimit",
        "nodeSelector",
        "tolerations",
    )
    assert [word for word in (*forbidden, "restartPolicy", "image:") if word in text] == []
