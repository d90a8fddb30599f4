"""What publish keeps under `sync/`, whatever becomes of teams, namespaces and policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from company import CLUSTER, Company, job, without_proof

from compiler.runs.publishing import Request, publish
from compiler.runs.verification import Verified, verified

FLUX = "sync: {flux: {url: 'ssh://git@git.example.com/ml/jobs', path: training/, secret: deploy}}\n"
ARGO = "sync: {argo_cd: {url: 'https://git.example.com/ml/jobs', server: 'https://west:6443'}}\n"
TEAM = "namespace: {namespace}\nowners: [kim]\nclusters: [west]\n"
HERE = "overlays/west"


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Company:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    without_proof(monkeypatch)
    made = Company(tmp_path)
    made.write("policy/clusters/east.yaml", None)
    made.write("policy/clusters/west.yaml", CLUSTER + FLUX)
    team(made, "nlp")
    team(made, "speech")
    made.write("jobs/nlp/a.yaml", job())
    made.write("jobs/speech/b.yaml", job())
    made.merge()
    return made


def team(company: Company, name: str, namespace: str = "") -> None:
    company.write(f"policy/teams/{name}.yaml", TEAM.format(namespace=namespace or f"p-{name}"))


def published(company: Company, ref: str = "HEAD") -> dict[str, str]:
    """All files of the cluster at a commit, by their path below its folder."""
    names = company.git("ls-tree", "-r", "--name-only", ref, "--", HERE).splitlines()
    return {n.removeprefix(f"{HERE}/"): company.git("show", f"{ref}:{n}") for n in names}


def paths(files: dict[str, str]) -> list[str]:
    """The folders that are followed, below the cluster's."""
    found: list[str] = []
    for name, text in files.items():
        if name.startswith("sync/"):
            for item in yaml.safe_load_all(text):
                spec: dict[str, Any] = item.get("spec", {})
                path = spec.get("path") or spec.get("source", {}).get("path")
                if path is not None:
                    found.append(path.partition(f"{HERE}/")[2])
    return sorted(found)


def folders(files: dict[str, str]) -> list[str]:
    """The folders that are there to be followed."""
    found = {name.partition("/")[0] for name in files} - {"base", "sync"}
    return sorted(found)


def test_publish_writes_them_once_and_finds_nothing_wrong_with_them(company: Company) -> None:
    company.publish()
    files = published(company)
    assert paths(files) == folders(files) == ["ended", "nlp", "platform", "speech"]
    source = yaml.safe_load(files["sync/source.yaml"])
    assert source["spec"]["url"] == "ssh://git@git.example.com/ml/jobs"
    assert source["spec"]["ref"] == {"branch": "main"}
    assert source["spec"]["secretRef"] == {"name": "deploy"}
    for name in ("platform", "ended", "teams/nlp"):
        folder = name.rpartition("/")[2]
        path = yaml.safe_load(files[f"sync/{name}.yaml"])["spec"]["path"]
        assert path == f"./training/overlays/west/{folder}"
    assert company.publish().commit is None
    assert verified(company.repository) == Verified()
    listed = yaml.safe_load(files["platform/kustomization.yaml"])["resources"]
    assert not [name for name in listed if "sync" in name]
    assert "access/p-nlp.yaml" in listed


def test_without_the_field_nothing_is_written_for_a_syncer(company: Company) -> None:
    company.publish()
    company.write("policy/clusters/west.yaml", CLUSTER)
    company.merge()
    before = published(company)
    company.publish()
    after = published(company)
    gone = set(before) - set(after)
    assert gone == {name for name in before if name.startswith(("sync/", "platform/access/"))}
    assert {k: v for k, v in after.items() if "/r1/" in k} == {
        k: v for k, v in before.items() if "/r1/" in k
    }


def test_another_syncer_changes_no_run(company: Company) -> None:
    company.publish()
    before = published(company)
    company.write("policy/clusters/west.yaml", CLUSTER + ARGO)
    company.merge()
    done = company.publish()
    after = published(company)
    assert not [item for item in done.outcome.decisions if item.decision.action != "none"]
    assert paths(after) == folders(after)
    changed = {k for k in {*before, *after} if before.get(k) != after.get(k)}
    assert all(name.startswith(("sync/", "platform/access/")) for name in changed)
    # Argo CD is on another cluster: what its accounts may do is applied on this one by itself.
    assert "access" not in yaml.safe_load(after["sync/kustomization.yaml"])["resources"]
    project = next(yaml.safe_load_all(after["sync/teams/nlp.yaml"]))
    place = {"server": "https://west:6443", "namespace": "p-nlp"}
    assert project["spec"]["destinations"] == [place]


def test_a_team_that_has_had_runs_keeps_its_follower_and_its_folder(company: Company) -> None:
    company.publish()
    company.write("policy/teams/speech.yaml", None)
    company.merge()
    # Nobody knows who may do what with the job: its run goes on, and can still be stopped.
    company.publish()
    files = published(company)
    assert paths(files) == folders(files) == ["ended", "nlp", "platform", "speech"]
    assert "platform/access/p-speech.yaml" in files
    company.write("jobs/speech/b.yaml", None)
    company.merge()
    company.publish()
    files = published(company)
    assert "speech/b/r1/run.yaml" not in files
    # A folder that is gone stops nothing: Flux would complain, and leave the run alone.
    assert paths(files) == folders(files) == ["ended", "nlp", "platform", "speech"]
    listed = yaml.safe_load(files["speech/kustomization.yaml"])
    assert listed["resources"] == ["sentinel.yaml"]
    sentinel = yaml.safe_load(files["speech/sentinel.yaml"])
    assert sentinel["metadata"]["namespace"] == "p-speech"
    assert sentinel["data"] == {"runs": ""}
    # Its namespace and its tombstone stay, and so does the right to keep the latter there.
    assert {"platform/namespaces/p-speech.yaml", "platform/access/p-speech.yaml"} <= set(files)
    assert "ended/p-speech.b-r1.yaml" in files
    # A tree from which the folder was taken once gets it back, in the namespace of its runs.
    company.git("rm", "-rq", f"{HERE}/speech")
    company.git("commit", "-qm", "Take it away")
    company.git("push", "-q", "origin", "HEAD:main")
    company.publish()
    again = published(company)
    assert {name for name in files if name.startswith("speech/")} <= set(again)
    assert again["speech/sentinel.yaml"] == files["speech/sentinel.yaml"]


def test_a_team_that_comes_and_goes_again_leaves_nothing_that_could_be_pruned(
    company: Company,
) -> None:
    company.publish()
    before = published(company)
    team(company, "vision")
    came = company.merge()
    company.publish()
    between = published(company)
    assert "vision" in paths(between)
    company.git("revert", "--no-edit", came)
    company.git("push", "-q", "origin", "HEAD:main")
    company.publish()
    after = published(company)
    assert after == before
    # What the platform's syncer prunes of it holds no data: a right. A namespace it may not delete.
    new = {
        item["kind"]
        for name in set(between) - set(before)
        if name.startswith("platform/")
        for item in yaml.safe_load_all(between[name])
        if item["metadata"].get("annotations", {}).get("kustomize.toolkit.fluxcd.io/prune")
        != "disabled"
    }
    assert new == {"RoleBinding"}


def test_a_run_in_its_teams_former_namespace_can_still_be_stopped(company: Company) -> None:
    company.write("policy/clusters/west.yaml", CLUSTER + ARGO)
    company.merge()
    company.publish()
    team(company, "nlp", "p-language")
    company.merge()
    company.publish()
    files = published(company)
    project, application = yaml.safe_load_all(files["sync/teams/nlp.yaml"])
    spaces = [place["namespace"] for place in project["spec"]["destinations"]]
    assert spaces == ["p-language", "p-nlp"]
    assert application["spec"]["destination"]["namespace"] == "p-language"
    for space in spaces:
        bindings = list(yaml.safe_load_all(files[f"platform/access/{space}.yaml"]))
        assert {item["metadata"]["namespace"] for item in bindings} == {space}
        (own,) = [item for item in bindings if item["metadata"]["name"] == "runwright-team"]
        assert own["subjects"][0]["name"] == "runwright-nlp"


@pytest.mark.parametrize(
    "path", ["policy/clusters/west.yaml", "policy/teams/nlp.yaml", "policy/teams/speech.yaml"]
)
def test_what_cannot_be_read_is_not_absent(company: Company, path: str) -> None:
    company.publish()
    before = published(company)
    company.write(path, "owners: [kim\n")
    company.merge()
    company.publish()
    assert published(company) == before


def test_the_syncer_follows_the_branch_that_publish_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    without_proof(monkeypatch)
    company = Company(tmp_path, 'publish = {branch = "deploy"}\n')
    company.write("policy/clusters/west.yaml", CLUSTER + FLUX)
    company.merge()
    company.hours += 1
    publish(company.repository, Request(), company.now)
    company.git("fetch", "-q", "origin")
    source = yaml.safe_load(published(company, "origin/deploy")["sync/source.yaml"])
    assert source["spec"]["ref"] == {"branch": "deploy"}
