"""The objects of `platform/` as the API server, Kueue and kustomize take them."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from kueue import Object, of_kind, read, refused
from msgspec.structs import replace

from compiler.kustomize import find
from compiler.platform import flavors
from compiler.platform.folder import platform_files
from compiler.repository import Policy, Repository

ROOT = Path(__file__).resolve().parents[2]
MODULES = Path(os.environ.get("GOMODCACHE", Path.home() / "go/pkg/mod")) / "sigs.k8s.io"
KUEUES = sorted(MODULES.glob("kueue@v0.1[5-9].*")) if MODULES.is_dir() else []


@pytest.fixture(scope="module")
def policy() -> Policy:
    found = Repository(ROOT).policy()
    assert found.findings == []
    return found


@pytest.fixture(scope="module")
def west(policy: Policy) -> list[Object]:
    return read(platform_files(policy, "west"))


def crds(module: Path) -> dict[tuple[str, str], Any]:
    """The schemas that a version of Kueue serves, by API version and kind; no field beside them."""
    found: dict[tuple[str, str], Any] = {}
    for path in (module / "config/components/crd/bases").glob("*.yaml"):
        spec = yaml.safe_load(path.read_text("utf-8"))["spec"]
        for version in spec["versions"]:
            if version["served"]:
                schema = version["schema"]["openAPIV3Schema"]
                schema["properties"]["metadata"] = {"type": "object"}
                name = f"{spec['group']}/{version['name']}"
                found[name, spec["names"]["kind"]] = closed(schema)
    return found


def closed(schema: Any) -> Any:
    """The API server drops fields that a schema does not know; here they are an error."""
    if isinstance(schema, dict):
        made = {key: closed(value) for key, value in schema.items()}
        if "properties" in made and not made.get("x-kubernetes-preserve-unknown-fields"):
            made.setdefault("additionalProperties", False)
        return made
    return [closed(value) for value in schema] if isinstance(schema, list) else schema


@pytest.mark.parametrize(
    "module",
    KUEUES or [pytest.param(None, marks=pytest.mark.skip("no Kueue in Go's module cache"))],
    ids=lambda path: path.name if path else "none",
)
def test_kueue_serves_them_and_its_schemas_allow_them(
    module: Path, west: list[Object], policy: Policy
) -> None:
    known = crds(module)
    seen: set[str] = set()
    for item in west:
        if item["apiVersion"].startswith("kueue."):
            jsonschema.validate(item, known[item["apiVersion"], item["kind"]])
            seen.add(item["kind"])
    assert seen == {
        "Topology",
        "ResourceFlavor",
        "Cohort",
        "ClusterQueue",
        "LocalQueue",
        "WorkloadPriorityClass",
    }


def test_kueues_webhooks_would_refuse_none_of_them(west: list[Object]) -> None:
    assert {item["metadata"]["name"]: refused(item) for item in west if refused(item)} == {}


def test_no_two_objects_are_one(west: list[Object]) -> None:
    for kind in {item["kind"] for item in west}:
        assert of_kind(west, kind)


def test_a_cluster_without_kueue_gets_namespaces_and_nothing_of_kueue(policy: Policy) -> None:
    objects = read(platform_files(policy, "east"))
    assert {item["kind"] for item in objects} == {
        "Namespace",
        "PriorityClass",
        "RoleBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }


def test_pods_that_no_queue_holds_find_the_priority_class_that_they_name(policy: Policy) -> None:
    classes = of_kind(read(platform_files(policy, "east")), "PriorityClass")
    values = {name: item["value"] for name, item in classes.items()}
    assert values == policy.clusters["east"].value.priorities
    # A run is not stopped for another one, and a value that policy changes is accepted.
    assert {item["preemptionPolicy"] for item in classes.values()} == {"Never"}
    for item in classes.values():
        assert "Replace=true" in item["metadata"]["annotations"]["argocd.argoproj.io/sync-options"]
    by_hand = policy.clusters["east"].value.model_copy(update={"kueue_objects": False})
    clusters = {**policy.clusters, "east": replace(policy.clusters["east"], value=by_hand)}
    other = Policy(clusters=clusters, teams=policy.teams, rules=policy.rules)
    assert not [item for item in read(platform_files(other, "east")) if "Priority" in item["kind"]]


def test_the_order_of_files_and_teams_does_not_matter(policy: Policy) -> None:
    before = platform_files(policy, "west")
    for seed in range(3):
        names = list(policy.teams)
        random.Random(seed).shuffle(names)
        other = Policy(
            clusters=policy.clusters, teams={n: policy.teams[n] for n in names}, rules=policy.rules
        )
        assert platform_files(other, "west") == before


def identity(item: Object) -> tuple[str, str, str]:
    where = item["metadata"]
    return item["kind"], where.get("namespace", ""), where["name"]


@pytest.mark.kustomize
@pytest.mark.parametrize("cluster", ["west", "east"])
def test_kustomize_builds_just_these_objects(policy: Policy, cluster: str, tmp_path: Path) -> None:
    files = platform_files(policy, cluster)
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    folder = tmp_path / "overlays" / cluster / "platform"
    done = subprocess.run(
        [*find(ROOT).command, "build", str(folder)], check=True, capture_output=True, text=True
    )
    built = list(yaml.safe_load_all(done.stdout))
    assert sorted(built, key=identity) == sorted(read(files), key=identity)


def policy_of(tmp_path: Path, cluster: str, team: str) -> Policy:
    for path, text in (("clusters/west", cluster), ("teams/nlp", team)):
        file = tmp_path / f"policy/{path}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    found = Repository(tmp_path).policy()
    assert found.findings == []
    return found


CLUSTER = """\
backend: {single_node: job, multi_node: job}
accelerators:
  H100:
    resource: nvidia.com/gpu
    per_node: 8
    nodes: 2
    node: {cpu: 100, memory: 800Gi}
    node_labels: {pool: h100}
    taints:
      - {key: gpu, value: h100, effect: NoSchedule}
      - {key: reserved}
queues: {main: {cluster_queue: main}}
topology:
  block: {label: example.com/block}
  rack: {label: example.com/rack}
"""
TEAM = """\
namespace: p-nlp
owners: [kim]
clusters: [west]
"""


def test_flavors_tolerate_the_taints_of_their_nodes(tmp_path: Path) -> None:
    objects = read(platform_files(policy_of(tmp_path, CLUSTER, TEAM), "west"))
    spec = of_kind(objects, "ResourceFlavor")["h100"]["spec"]
    assert spec["nodeLabels"] == {"pool": "h100"}
    assert spec["tolerations"] == [
        {"key": "gpu", "operator": "Equal", "value": "h100", "effect": "NoSchedule"},
        {"key": "reserved", "operator": "Exists"},
    ]


def test_the_topology_goes_from_the_widest_level_to_the_node(tmp_path: Path) -> None:
    objects = read(platform_files(policy_of(tmp_path, CLUSTER, TEAM), "west"))
    (topology,) = of_kind(objects, "Topology").values()
    assert [level["nodeLabel"] for level in topology["spec"]["levels"]] == [
        "example.com/block",
        "example.com/rack",
        "kubernetes.io/hostname",
    ]
    flavor = of_kind(objects, "ResourceFlavor")["h100"]
    assert flavor["spec"]["topologyName"] == topology["metadata"]["name"]


def test_accounts_are_those_that_jobs_use_by_default_and_have_no_token(tmp_path: Path) -> None:
    team = TEAM + (
        "defaults:\n"
        "  security: {service_account: trainer}\n"
        "  master: {security: {service_account: reporter}}\n"
    )
    objects = read(platform_files(policy_of(tmp_path, CLUSTER, team), "west"))
    accounts = of_kind(objects, "ServiceAccount")
    assert set(accounts) == {"p-nlp/trainer", "p-nlp/reporter"}
    for account in accounts.values():
        assert account["automountServiceAccountToken"] is False
        notes = account["metadata"]["annotations"]
        assert notes["kustomize.toolkit.fluxcd.io/prune"] == "disabled"


def test_without_a_level_of_pod_security_the_clusters_own_default_holds(tmp_path: Path) -> None:
    objects = read(platform_files(policy_of(tmp_path, CLUSTER, TEAM), "west"))
    labels = of_kind(objects, "Namespace")["p-nlp"]["metadata"]["labels"]
    assert not [name for name in labels if name.startswith("pod-security.kubernetes.io/")]


@pytest.mark.parametrize("namespace", ["kube-system", "default", "argocd"])
def test_a_namespace_of_somebody_else_is_not_touched(tmp_path: Path, namespace: str) -> None:
    team = TEAM.replace("p-nlp", namespace)
    objects = read(platform_files(policy_of(tmp_path, CLUSTER, team), "west"))
    assert of_kind(objects, "Namespace") == {}


@pytest.mark.parametrize(
    ("version", "is_served"),
    [
        (None, True),
        ("0.17.0", True),
        ("v0.15.0", True),
        ("0.14.9", False),
        ("0.9.1", False),
        ("0.17", True),
        ("1", True),
        ("0", False),
    ],
)
def test_which_versions_of_kueue_serve_them(version: str | None, is_served: bool) -> None:
    assert flavors.served(version) is is_served
