"""Public PyTorchJobs, declared in our own words, mean what their authors wrote.

`tests/cases/real/<number>-<job>/job.yaml` is the declaration, `differences.yaml` says where its
run differs from the manifest, and why. The manifests themselves are not part of the repository:
the comparison runs where they lie beside it.
"""

from __future__ import annotations

import copy
import json
import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from manifest_meaning import leaves

from compiler import kustomize, overlay
from compiler.project import Project
from compiler.repository import Repository
from compiler.results import RunResult

CASES = Path(__file__).parent / "cases" / "real"
MANIFESTS = Path(__file__).parents[2] / "shared" / "cases" / "pytorchjob"
NAMES = sorted(path.parent.name for path in CASES.glob("*/job.yaml"))
MIRROR = "registry.example.com/mirror/"

beside = pytest.mark.skipif(not MANIFESTS.is_dir(), reason="the manifests are not here")


def repository(case: str, root: Path) -> Path:
    """A repository with one job: the case's declaration and files over the shared policy."""
    shutil.copytree(CASES / case, root, dirs_exist_ok=True)
    for shared in ("policy", "images", "base"):
        shutil.copytree(CASES / shared, root / shared)
    (root / "jobs").mkdir()
    (root / "job.yaml").rename(root / "jobs" / f"{case.partition('-')[2]}.yaml")
    (root / "pyproject.toml").write_text("[tool.compiler]\n")
    return root


def result(root: Path) -> RunResult:
    """The run of the one job of a repository, once nothing is wrong in it."""
    project = Project(Repository.find(root, explicit=True))
    (judged,) = project.results()
    findings = [*project.policy.findings, *project.base_findings, *judged.findings]
    assert [finding.message for finding in findings] == []
    (made,) = judged.runs
    return made


def ours(case: str, root: Path) -> dict[str, str]:
    """The leaves of the case's run, with the image as the reference that its digest stands for."""
    job = copy.deepcopy(result(repository(case, root)).objects[0])
    lock = yaml.safe_load((CASES / "images" / "lock.yaml").read_text())["images"].values()
    references = {entry["digest"]: entry["reference"] for entry in lock}
    for replica in job["spec"]["pytorchReplicaSpecs"].values():
        for container in replica["template"]["spec"]["containers"]:
            reference = references[container["image"].partition("@")[2]]
            container["image"] = reference.removeprefix(MIRROR)
    return leaves(job)


def theirs(case: str) -> dict[str, str]:
    """The leaves of the manifest, with the image as it is called on any registry."""
    (path,) = MANIFESTS.glob(f"{case.partition('-')[0]}-*.yaml")
    documents = yaml.safe_load_all(path.read_text())
    (job,) = (document for document in documents if document["kind"] == "PyTorchJob")
    for replica in job["spec"]["pytorchReplicaSpecs"].values():
        for container in replica["template"]["spec"]["containers"]:
            host, slash, rest = container["image"].partition("/")
            container["image"] = rest if slash and "." in host else container["image"]
    return leaves(job)


@cache
def common() -> dict[str, list[dict[str, Any]]]:
    return yaml.safe_load((CASES / "differences.yaml").read_text())


def own(case: str) -> list[dict[str, Any]]:
    return yaml.safe_load((CASES / case / "differences.yaml").read_text())


@cache
def pattern(glob: str) -> re.Pattern[str]:
    steps = {"**": ".*", "*": "[^/]*"}
    return re.compile("".join(steps.get(p, re.escape(p)) for p in re.split(r"(\*\*|\*)", glob)))


def accepted(case: str, pointer: str, before: str | None, after: str | None) -> str | None:
    """The path of the accepted difference that covers this one; None if none does."""
    for entry in own(case):
        if pattern(entry["path"]).fullmatch(pointer):
            wanted = json.dumps(entry["ours"], ensure_ascii=False) if "ours" in entry else None
            if wanted == after:
                return entry["path"]
    if after is None:
        return None
    for entry in common()["added" if before is None else "changed"]:
        if pattern(entry["path"]).fullmatch(pointer) and (
            "from" not in entry or json.dumps(entry["from"]) == before
        ):
            return entry["path"]
    return None


def differing(case: str, root: Path) -> dict[str, tuple[str | None, str | None]]:
    before, after = theirs(case), ours(case, root)
    return {
        pointer: (before.get(pointer), after.get(pointer))
        for pointer in sorted({*before, *after})
        if before.get(pointer) != after.get(pointer)
    }


@beside
@pytest.mark.parametrize("case", NAMES)
def test_the_run_of_a_real_job_means_what_its_manifest_means(case: str, tmp_path: Path) -> None:
    unexplained = {
        pointer: pair
        for pointer, pair in differing(case, tmp_path).items()
        if accepted(case, pointer, *pair) is None
    }
    assert unexplained == {}


@beside
@pytest.mark.parametrize("case", NAMES)
def test_every_accepted_difference_of_a_case_is_there(case: str, tmp_path: Path) -> None:
    used = {accepted(case, pointer, *pair) for pointer, pair in differing(case, tmp_path).items()}
    assert [entry["path"] for entry in own(case) if entry["path"] not in used] == []


@beside
def test_every_common_difference_is_in_some_case(tmp_path: Path) -> None:
    used = {
        accepted(case, pointer, *pair)
        for case in NAMES
        for pointer, pair in differing(case, tmp_path / case).items()
    }
    listed = [entry["path"] for entries in common().values() for entry in entries]
    assert [path for path in listed if path not in used] == []


@pytest.mark.kustomize
def test_kustomize_builds_the_run_of_every_real_job(tmp_path: Path) -> None:
    wanted: dict[Path, list[dict[str, Any]]] = {}
    for case in NAMES:
        made = result(repository(case, tmp_path / case))
        files = overlay.snapshot(made.run.identity.cluster, made.base)
        files |= {path: text.encode() for path, text in overlay.files(made, made.base).items()}
        for path, content in files.items():
            (tmp_path / case / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / case / path).write_bytes(content)
        wanted[tmp_path / case / overlay.run_folder(made.run)] = list(made.objects)
    programs = kustomize.all_available(Path(__file__).parents[1])
    if not programs:
        pytest.skip("no kustomize here")
    for program in programs:
        for built, objects in zip(
            program.build_many(list(wanted), 2), wanted.values(), strict=True
        ):
            assert sorted(built, key=repr) == sorted(objects, key=repr), program.name


@beside
def test_every_manifest_has_a_case() -> None:
    numbers = {path.name.partition("-")[0] for path in MANIFESTS.glob("*.yaml")}
    assert {name.partition("-")[0] for name in NAMES} == numbers


def test_every_difference_has_a_reason() -> None:
    entries = [entry for case in NAMES for entry in own(case)]
    entries += [entry for group in common().values() for entry in group]
    assert [entry["path"] for entry in entries if not entry.get("reason", "").strip()] == []
