"""The control plane itself, and the platform objects of the example repository on it."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from compiler.kustomize import find as kustomize
from controlplane.api import Api, Manifest, Refused, condition, kind_of
from controlplane.binaries import find, version
from controlplane.kueue import VERSION, WORKLOAD
from controlplane.stack import Stack

ROOT = Path(__file__).resolve().parents[2]

PYTORCHJOB = "kubeflow.org/v1/PyTorchJob"
JOB = "batch/v1/Job"

# Of each part, the module whose version it was built of, as the linker writes it into a program.
MODULES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-controller-manager": "k8s.io/kubernetes",
    "training-operator": "github.com/kubeflow/training-operator",
    "kueue": "sigs.k8s.io/kueue",
}


def pytorchjob(name: str, namespace: str, workers: int, container: str = "pytorch") -> Manifest:
    """A queued job with a master and workers, of four accelerators each."""

    def replicas(count: int) -> dict[str, Any]:
        limits = {"cpu": "1", "memory": "1Gi", "example.com/gpu": "4"}
        each = {"name": container, "image": "a", "resources": {"limits": limits}}
        pod = {"containers": [each], "automountServiceAccountToken": False}
        return {"replicas": count, "restartPolicy": "OnFailure", "template": {"spec": pod}}

    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"kueue.x-k8s.io/queue-name": "training"},
        },
        "spec": {"pytorchReplicaSpecs": {"Master": replicas(1), "Worker": replicas(workers)}},
    }


def batch_job(name: str, namespace: str, workers: int) -> Manifest:
    """A queued batch Job of as many Pods as the PyTorchJob of so many workers has."""
    whole = pytorchjob(name, namespace, workers)
    template = whole["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    template["spec"]["restartPolicy"] = "Never"
    count = workers + 1
    spec = {"parallelism": count, "completions": count, "suspend": True, "template": template}
    return {**whole, "apiVersion": "batch/v1", "kind": "Job", "spec": spec}


@pytest.fixture
def queue(stack: Stack, namespace: str) -> Iterator[str]:
    """The namespace with a queue `training` that gives out 16 accelerators."""
    name = f"queue-{namespace}"
    quota = {"cpu": "100", "memory": "100Gi", "example.com/gpu": "16", "pods": "100"}
    covered = [{"name": key, "nominalQuota": value} for key, value in quota.items()]
    flavor = {"apiVersion": VERSION, "kind": "ResourceFlavor", "metadata": {"name": name}}
    flavor["spec"] = {"nodeLabels": {"example.com/kind": "h100"}}
    cluster_queue = {
        "apiVersion": VERSION,
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {
            "namespaceSelector": {},
            "resourceGroups": [
                {
                    "coveredResources": list(quota),
                    "flavors": [{"name": name, "resources": covered}],
                }
            ],
        },
    }
    local_queue = {
        "apiVersion": VERSION,
        "kind": "LocalQueue",
        "metadata": {"name": "training", "namespace": namespace},
        "spec": {"clusterQueue": name},
    }
    for each in (flavor, cluster_queue, local_queue):
        stack.api.apply(each)
    yield namespace
    for each in (local_queue, cluster_queue, flavor):
        stack.api.delete(f"{VERSION}/{each['kind']}", each["metadata"]["name"], namespace)


def built_of(program: Path, module: str) -> str:
    """The version of a module that a Go program was built of, from the program itself."""
    content = program.read_bytes()
    for word in (b"mod", b"dep"):
        line = b"%b\t%b\t" % (word, module.encode())
        at = content.find(line)
        if at >= 0:
            return content[at + len(line) : at + len(line) + 100].split()[0].decode()
    raise AssertionError(f"{program} was not built of {module}")


def test_every_part_runs_in_the_version_that_is_pinned(stack: Stack) -> None:
    said = stack.api.raw("GET", "/version")["gitVersion"]
    assert said == version("kube-apiserver")
    assert {name: built_of(find(name), module) for name, module in MODULES.items()} == {
        name: version(name) for name in MODULES
    }
    assert set(stack.processes.names()) >= {"kube-apiserver", *MODULES}


def test_a_namespace_that_is_deleted_goes_with_what_is_in_it(stack: Stack) -> None:
    name = "test-going"
    stack.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}
    stack.api.create({**settings, "metadata": {"name": "settings", "namespace": name}})
    stack.api.delete("v1/Namespace", name)
    stack.api.gone("v1/Namespace", name)
    assert stack.api.find("v1/ConfigMap", "settings", name) is None


def test_a_watch_tells_what_is_there_and_then_each_change_once(
    stack: Stack, namespace: str
) -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap"}
    settings["metadata"] = {"name": "old", "namespace": namespace, "labels": {"a": "b"}}
    stack.api.create(settings)
    seen: list[tuple[str, str]] = []

    def changes() -> Iterator[None]:
        new = {**settings, "metadata": {**settings["metadata"], "name": "new"}}
        stack.api.create(new)
        yield
        # Quiet for longer than one stream lasts.
        time.sleep(2.5)
        stack.api.patch("v1/ConfigMap", "new", namespace, {"data": {"c": "d"}})
        yield
        stack.api.delete("v1/ConfigMap", "old", namespace)
        yield

    to_come = changes()
    for event in stack.api.watch("v1/ConfigMap", namespace, labels="a=b", seconds=60):
        seen.append((event.type, event.object["metadata"]["name"]))
        assert event.object["kind"] == "ConfigMap"
        if next(to_come, "none left") == "none left":
            break
    assert seen == [("ADDED", "old"), ("ADDED", "new"), ("MODIFIED", "new"), ("DELETED", "old")]


def test_another_user_may_do_what_is_granted_and_no_more(stack: Stack, namespace: str) -> None:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    group = "rbac.authorization.k8s.io"
    here = {"name": "reader", "namespace": namespace}
    role = {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": here, "rules": rules}
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": here,
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "kim"}],
    }
    stack.api.create_all([role, binding])
    kim = stack.api.acting("kim")
    assert stack.api.until(lambda: kim.list("v1/ConfigMap", namespace))
    with pytest.raises(Refused, match='User "kim" cannot list resource "secrets"') as refusal:
        kim.list("v1/Secret", namespace)
    assert refusal.value.code == 403


def test_the_operator_refuses_a_container_of_another_name(stack: Stack, namespace: str) -> None:
    with pytest.raises(Refused, match="container with name pytorch") as refusal:
        stack.api.apply(pytorchjob("misnamed", namespace, 1, container="main"))
    assert "training-operator" in refusal.value.message
    assert stack.api.list(PYTORCHJOB, namespace) == []


def test_kueue_refuses_a_queue_that_does_not_cover_what_it_gives_out(stack: Stack) -> None:
    flavors = [{"name": "a", "resources": [{"name": "memory", "nominalQuota": "1"}]}]
    wrong = {
        "apiVersion": VERSION,
        "kind": "ClusterQueue",
        "metadata": {"name": "wrong"},
        "spec": {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}]},
    }
    with pytest.raises(Refused, match="coveredResources"):
        stack.api.apply(wrong)


@pytest.mark.parametrize(("kind", "job"), [(PYTORCHJOB, pytorchjob), (JOB, batch_job)])
def test_of_two_jobs_beyond_the_quota_the_second_starts_when_the_first_is_gone(
    stack: Stack, queue: str, kind: str, job: Any
) -> None:
    api = stack.api
    first, second = job("first", queue, 2), job("second", queue, 2)
    api.create(first)
    pods = api.until(
        lambda: api.list("v1/Pod", queue), lambda pods: len(pods) == 3, said="three pods"
    )
    assert all(pod["spec"]["nodeSelector"] == {"example.com/kind": "h100"} for pod in pods)

    api.create(second)
    api.until(
        lambda: _workload(api, queue, "second"),
        lambda found: condition(found, "QuotaReserved") == "False",
        said="word from Kueue that the second job has no quota",
    )
    assert _suspended(api, kind, "second", queue)
    assert len(api.list("v1/Pod", queue)) == 3

    api.delete(kind, "first", queue)
    api.until(
        lambda: _suspended(api, kind, "second", queue), lambda held: not held, said="second start"
    )
    api.until(
        lambda: api.list("v1/Pod", queue),
        lambda pods: len(pods) == 3 and all(_owner(pod) == "second" for pod in pods),
        said="three pods of the second job",
    )


def _suspended(api: Api, kind: str, name: str, namespace: str) -> bool:
    spec = api.get(kind, name, namespace)["spec"]
    held: bool = spec["suspend"] if kind == JOB else spec["runPolicy"]["suspend"]
    return held


def _owner(found: Manifest) -> str:
    name: str = found["metadata"]["ownerReferences"][0]["name"]
    return name


def _workload(api: Api, namespace: str, owner: str) -> Manifest | None:
    workloads = api.list(WORKLOAD, namespace)
    return next((each for each in workloads if _owner(each) == owner), None)


# --- what the product emits ----------------------------------------------------------------


@pytest.fixture(scope="module")
def overlays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the compiler makes of the example repository."""
    out = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "compiler", "build", "-o", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out / "overlays"


@pytest.fixture
def platform(stack: Stack, overlays: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The platform objects of a cluster, applied as a syncer does; gone after the test."""
    objects = kustomize(root=ROOT).build(overlays / request.param / "platform")
    order = ("Namespace", "Topology", "ResourceFlavor", "Cohort", "ClusterQueue", "LocalQueue")
    objects.sort(key=lambda each: order.index(each["kind"]) if each["kind"] in order else 9)
    for each in objects:
        stack.api.apply(each, manager="syncer", force=False)
    yield request.param, objects
    named = [
        (kind_of(each), each["metadata"]["name"], each["metadata"].get("namespace"))
        for each in reversed(objects)
    ]
    for kind, name, namespace in named:
        stack.api.delete(kind, name, namespace)
    for kind, name, namespace in named:
        stack.api.gone(kind, name, namespace, seconds=60)


UNITS = {"": 1, "m": Fraction(1, 1000), "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}


def amount(text: object) -> Fraction:
    """A quantity as a number; the units are those that the objects here have."""
    found = re.fullmatch(r"([0-9]+)([A-Za-z]*)", str(text))
    assert found is not None, text
    return Fraction(int(found[1])) * UNITS[found[2]]


def capacity(cluster: str) -> dict[tuple[str, str], Fraction]:
    """What a cluster's file in policy says that its nodes can give to runs: (flavor, resource)."""
    policy = yaml.safe_load((ROOT / f"policy/clusters/{cluster}.yaml").read_text("utf-8"))
    total: dict[tuple[str, str], Fraction] = {}
    for kind in [*policy["accelerators"].values(), policy["cpu_nodes"]]:
        node, nodes, flavor = kind["node"], kind["nodes"], kind["flavor"]
        for resource in ("cpu", "memory"):
            each = amount(node[resource]) - amount(node.get(f"reserved_{resource}", 0))
            total[flavor, resource] = nodes * each
        if "resource" in kind:
            total[flavor, kind["resource"]] = Fraction(nodes * kind["per_node"])
    return total


def settled(stack: Stack, objects: Iterable[Manifest]) -> None:
    """Wait until every queue among the objects can be used."""
    for each in objects:
        if each["kind"] in ("ClusterQueue", "LocalQueue"):
            stack.api.until(
                lambda each=each: stack.api.read(each),
                lambda found: condition(found, "Active") == "True",
                said=f"{each['kind']} {each['metadata']['name']} that is Active",
            )


@pytest.mark.parametrize("platform", ["west"], indirect=True)
def test_what_kueue_may_give_out_is_what_the_policy_says_that_nodes_have(
    stack: Stack, platform: tuple[str, list[Manifest]]
) -> None:
    cluster, objects = platform
    settled(stack, objects)
    given: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for each in objects:
        if each["kind"] not in ("Cohort", "ClusterQueue"):
            continue
        found = stack.api.read(each)
        assert found is not None
        for group in found["spec"].get("resourceGroups", ()):
            for flavor in group["flavors"]:
                for resource in flavor["resources"]:
                    quota = amount(resource["nominalQuota"])
                    given[flavor["name"], resource["name"]] += quota
    has = capacity(cluster)
    assert {key: given[key] for key in has} == has
    # No flavor gives out accelerators that its nodes do not have.
    accelerators = {resource for _, resource in has} - {"cpu", "memory"}
    assert {key for key in given if key[1] in accelerators and given[key]} <= set(has)


@pytest.mark.parametrize("platform", ["west", "east"], indirect=True)
def test_platform_objects_stay_as_the_syncer_writes_them(
    stack: Stack, platform: tuple[str, list[Manifest]]
) -> None:
    _, objects = platform
    assert {"Namespace", "ValidatingAdmissionPolicy"} <= {each["kind"] for each in objects}
    settled(stack, objects)
    for each in objects:
        before = stack.api.read(each)
        again = stack.api.apply(each, manager="syncer", force=False)
        assert before is not None
        assert again["metadata"].get("generation") == before["metadata"].get("generation")
        assert {key: again[key] for key in again if key not in ("metadata", "status")} == {
            key: before[key] for key in before if key not in ("metadata", "status")
        }


@pytest.mark.parametrize("platform", ["east"], indirect=True)
def test_the_server_finds_no_fault_in_the_types_of_the_tombstone_policy(
    stack: Stack, platform: tuple[str, list[Manifest]]
) -> None:
    (policy,) = (each for each in platform[1] if each["kind"] == "ValidatingAdmissionPolicy")
    found = stack.api.until(
        lambda: stack.api.read(policy),
        lambda found: found is not None and "typeChecking" in found.get("status", {}),
        said="type check of the policy",
    )
    assert found is not None
    assert found["status"]["typeChecking"].get("expressionWarnings") is None
