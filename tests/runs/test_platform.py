"""What publish keeps under `platform/`, whatever becomes of teams, namespaces and policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from company import Company, job, without_proof

CLUSTER = """\
backend: {single_node: job, multi_node: pytorchjob}
accelerators:
  H100:
    resource: nvidia.com/gpu
    per_node: 8
    nodes: 8
    node: {cpu: 188, memory: 1900Gi}
    per_accelerator: {cpu: 20, memory: 200Gi, shm_size: 16Gi}
    node_labels: {pool: h100}
queues: {main: {cluster_queue: research}}
claims:
  checkpoints: {access: ReadWriteMany}
registries: {registry.example.com/training: {}}
network: {interface: eth0}
pod_security: baseline
"""
TEAM = """\
namespace: {namespace}
owners: [kim]
clusters: [west]
quota: {{west: {{H100: {{guaranteed: {guaranteed}}}}}}}
"""
HERE = "overlays/west/platform"


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Company:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    without_proof(monkeypatch)
    made = Company(tmp_path)
    made.write("policy/clusters/east.yaml", None)
    made.write("policy/clusters/west.yaml", CLUSTER)
    team(made, "nlp")
    team(made, "speech")
    made.write("jobs/nlp/a.yaml", job(queue="main"))
    made.merge()
    return made


def team(company: Company, name: str, namespace: str = "", guaranteed: int = 24) -> None:
    text = TEAM.format(namespace=namespace or f"p-{name}", guaranteed=guaranteed)
    company.write(f"policy/teams/{name}.yaml", text)


def published(company: Company) -> dict[str, str]:
    """The folder's files at the tip, by their path in it."""
    names = company.git("ls-tree", "-r", "--name-only", "HEAD", "--", HERE).splitlines()
    return {n.removeprefix(f"{HERE}/"): company.git("show", f"HEAD:{n}") for n in names}


def listed(files: dict[str, str]) -> set[str]:
    return set(yaml.safe_load(files["kustomization.yaml"])["resources"])


def runs(company: Company) -> dict[str, str]:
    """The blobs of all run files and of the ledger."""
    rows = company.git("ls-tree", "-r", "HEAD", "--", "overlays").splitlines()
    found = {row.partition("\t")[2]: row.split()[2] for row in rows}
    return {path: blob for path, blob in found.items() if "/r1/" in path or "/ledger/" in path}


def objects(text: str, kind: str) -> list[dict[str, Any]]:
    return [item for item in yaml.safe_load_all(text) if item["kind"] == kind]


def test_the_kustomization_lists_every_file_and_no_other(company: Company) -> None:
    company.publish()
    files = published(company)
    assert listed(files) == set(files) - {"kustomization.yaml"}
    assert {"namespaces/p-nlp.yaml", "queues/nlp.yaml", "cohorts.yaml"} <= set(files)
    assert company.publish().commit is None


def test_a_namespace_is_never_pruned_and_has_its_level(company: Company) -> None:
    company.publish()
    (space,) = objects(published(company)["namespaces/p-nlp.yaml"], "Namespace")
    notes, labels = space["metadata"]["annotations"], space["metadata"]["labels"]
    assert notes["kustomize.toolkit.fluxcd.io/prune"] == "disabled"
    assert "Prune=false" in notes["argocd.argoproj.io/sync-options"].split(",")
    for mode in ("enforce", "audit", "warn"):
        assert labels[f"pod-security.kubernetes.io/{mode}"] == "baseline"


def test_a_change_of_quota_touches_no_run(company: Company) -> None:
    company.publish()
    before, files = runs(company), published(company)
    team(company, "nlp", guaranteed=16)
    company.merge()
    done = company.publish()
    assert runs(company) == before
    changed = {name for name, text in published(company).items() if files.get(name) != text}
    assert changed == {"cohorts.yaml"}
    assert all(item.decision.action == "none" for item in done.outcome.decisions)


def test_the_namespace_of_a_removed_team_stays_as_long_as_the_ledger_knows_its_runs(
    company: Company,
) -> None:
    company.publish()
    before = published(company)
    company.write("policy/teams/nlp.yaml", None)
    company.write("jobs/nlp/a.yaml", None)
    company.write("policy/teams/speech.yaml", None)
    team(company, "vision")
    company.merge()
    company.publish()
    for _ in range(2):
        files = published(company)
        assert files["namespaces/p-nlp.yaml"] == before["namespaces/p-nlp.yaml"]
        assert "namespaces/p-nlp.yaml" in listed(files)
        # Nobody knows any run of this one; in the cluster it stays all the same.
        assert "namespaces/p-speech.yaml" not in files
        assert "queues/nlp.yaml" not in files
        team(company, "vision", guaranteed=8)
        company.merge()
        company.publish()


def test_a_team_that_is_gone_with_runs_keeps_its_queues_and_is_guaranteed_nothing(
    company: Company,
) -> None:
    company.publish()
    before = published(company)
    company.write("policy/teams/nlp.yaml", None)
    company.merge()
    company.publish()
    files = published(company)
    assert files["queues/nlp.yaml"] == before["queues/nlp.yaml"]
    cohorts = {c["metadata"]["name"]: c["spec"] for c in objects(files["cohorts.yaml"], "Cohort")}
    (queue,) = objects(files["queues/nlp.yaml"], "ClusterQueue")
    assert cohorts[queue["spec"]["cohortName"]] == {"parentName": "runwright"}
    root = cohorts["runwright"]["resourceGroups"][0]["flavors"][0]["resources"]
    assert {"name": "nvidia.com/gpu", "nominalQuota": "40"} in root


def test_a_team_that_moves_keeps_the_queue_of_the_run_that_it_left(company: Company) -> None:
    company.publish()
    team(company, "nlp", namespace="p-new")
    company.merge()
    company.publish()
    for _ in range(2):
        files = published(company)
        assert {"namespaces/p-nlp.yaml", "namespaces/p-new.yaml"} <= listed(files)
        text = files["queues/nlp.yaml"]
        spaces = {q["metadata"]["namespace"] for q in objects(text, "LocalQueue")}
        (queue,) = objects(text, "ClusterQueue")
        (selector,) = queue["spec"]["namespaceSelector"]["matchExpressions"]
        assert spaces == set(selector["values"]) == {"p-nlp", "p-new"}
        team(company, "speech", guaranteed=8)
        company.merge()
        company.publish()


@pytest.mark.parametrize("path", ["policy/teams/nlp.yaml", "policy/clusters/west.yaml"])
def test_policy_that_cannot_be_read_changes_nothing(company: Company, path: str) -> None:
    company.publish()
    before = published(company)
    company.write(path, "namespace: [\n")
    team(company, "speech", guaranteed=8)
    company.merge()
    company.publish()
    assert published(company) == before


def test_a_cluster_that_is_gone_keeps_its_folder_while_it_has_runs(company: Company) -> None:
    company.publish()
    before = published(company)
    company.write("policy/clusters/west.yaml", None)
    company.merge()
    company.publish()
    assert published(company) == before


def test_the_revert_of_a_publish_commit_is_repaired(company: Company) -> None:
    company.publish()
    team(company, "nlp", guaranteed=16)
    company.merge()
    company.publish()
    after = published(company)
    company.git("revert", "--no-edit", "HEAD")
    company.merge()
    assert published(company) != after
    company.publish()
    assert published(company) == after


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("admission: ledger", set[str]()),
        ("kueue_objects: false", set[str]()),
        ("versions: {kueue: 0.14.2}", set[str]()),
        ("versions: {kueue: v0.15.0}", {"queues/nlp.yaml", "cohorts.yaml", "flavors.yaml"}),
        ("versions: {kueue: '1'}", {"queues/nlp.yaml", "cohorts.yaml", "flavors.yaml"}),
    ],
)
def test_kueues_objects_are_written_where_kueue_takes_them(
    company: Company, line: str, kinds: set[str]
) -> None:
    company.write("policy/clusters/west.yaml", f"{CLUSTER}{line}\n")
    company.merge()
    company.publish()
    files = set(published(company))
    assert files & {"queues/nlp.yaml", "cohorts.yaml", "flavors.yaml"} == kinds
    assert {"namespaces/p-nlp.yaml", "tombstones.yaml"} <= files
