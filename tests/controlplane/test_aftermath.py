"""What rules say is accepted, and then loops, hangs, waits or runs outside of everything.

Nothing runs Pods here, so only what the operator, the Job controller and Kueue do by themselves is
shown. What needs a kubelet, nodes or the processes of a run is listed in `claims.NOT_SHOWN`.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from declarations import job

from controlplane import emitting, replicas
from controlplane.api import Api, Manifest, condition
from controlplane.faults import ELASTIC, SEVERAL, as_pytorchjob, main_of, spec_of
from controlplane.kueue import WORKLOAD
from controlplane.stack import Stack

shows = pytest.mark.shows

PYTORCHJOB = "kubeflow.org/v1/PyTorchJob"
QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY = "kueue.x-k8s.io/priority-class"
GPU, CORES, MEMORY = "nvidia.com/gpu", "cpu", "memory"
COVERED = (CORES, MEMORY, GPU, "rdma/hca_shared_devices_a")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Manifest]:
    """The first object of a declaration or of a page's example, as no check was made."""
    made: dict[str, Manifest] = {}
    folder = tmp_path_factory.mktemp("aftermath")

    def made_of(text: str, page: bool = False) -> Manifest:
        if text not in made:
            root: Path = folder / str(len(made))
            of = emitting.of_page if page else emitting.of_declaration
            made[text] = of(root, text)[0]
        return copy.deepcopy(made[text])

    return made_of


def put(api: Api, made: Manifest, namespace: str, queue: str | None = None) -> Manifest:
    """Apply a PyTorchJob in a namespace and a queue, or in none, without any priority."""
    made["metadata"]["namespace"] = namespace
    labels = made["metadata"].setdefault("labels", {})
    for label in (QUEUE, PRIORITY):
        labels.pop(label, None)
    if queue is not None:
        labels[QUEUE] = queue
    for role in made["spec"]["pytorchReplicaSpecs"].values():
        role["template"]["spec"].pop("priorityClassName", None)
    return api.apply(made)


def made_pods(api: Api, namespace: str, count: int) -> list[Manifest]:
    """The Pods of a namespace, once there are so many."""
    return api.until(
        lambda: api.list("v1/Pod", namespace),
        lambda found: len(found) == count,
        30,
        f"{count} Pods",
    )


def environment(pod: Manifest) -> list[tuple[str, str | None]]:
    """The variables of the training container, in their order."""
    (container,) = (each for each in pod["spec"]["containers"] if each["name"] == "pytorch")
    return [(each["name"], each.get("value")) for each in container["env"]]


def warned(api: Api, namespace: str, text: str) -> None:
    api.until(
        lambda: [each["message"] for each in api.list("v1/Event", namespace)],
        lambda found: any(text in message for message in found),
        30,
        f"event that says {text!r}",
    )


# --- the operator --------------------------------------------------------------------------------


@shows("operator-variable", "missing-launcher", "static-rendezvous-variable")
def test_the_operator_s_variables_come_after_the_job_s_own(
    stack: Stack, namespace: str, compiled: Callable[..., Manifest]
) -> None:
    put(stack.api, compiled("operator-variable", page=True), namespace)
    for pod in made_pods(stack.api, namespace, 4):
        found = environment(pod)
        values = [value for name, value in found if name == "WORLD_SIZE"]
        # The job's own is the first of two, so the last one counts: all accelerators.
        assert values == ["2", "32"]
        assert "PET_RDZV_ENDPOINT" not in dict(found)


@shows("elastic-without-launcher", "static-rendezvous-variable", "missing-rendezvous-endpoint")
def test_an_elastic_run_has_no_address_of_a_master(
    stack: Stack, namespace: str, compiled: Callable[..., Manifest]
) -> None:
    made = compiled("missing-rendezvous-endpoint", page=True)
    put(stack.api, made, namespace)
    found = dict(environment(made_pods(stack.api, namespace, 4)[0]))
    assert not {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"} & set(found)
    # No etcd listens there: the first worker, and the operator's own port.
    assert found["PET_RDZV_BACKEND"] == "etcd"
    assert found["PET_RDZV_ENDPOINT"] == f"{made['metadata']['name']}-worker-0:23456"


@shows("elastic-with-master")
def test_nodes_of_an_elastic_run_are_counted_without_the_master(
    stack: Stack, namespace: str, compiled: Callable[..., Manifest]
) -> None:
    made = compiled(ELASTIC)
    roles = made["spec"]["pytorchReplicaSpecs"]
    roles["Master"] = {**copy.deepcopy(roles["Worker"]), "replicas": 1}
    put(stack.api, made, namespace)
    pods = made_pods(stack.api, namespace, 5)
    # Five nodes meet, and four of them have a place.
    assert {dict(environment(pod))["PET_NNODES"] for pod in pods} == {"2:4"}


@shows("elastic-range")
def test_a_range_that_is_none_is_accepted_and_handed_on(
    stack: Stack, namespace: str, compiled: Callable[..., Manifest]
) -> None:
    made = compiled(ELASTIC)
    made["spec"]["elasticPolicy"] |= {"minReplicas": 4, "maxReplicas": 2}
    put(stack.api, made, namespace)
    pods = made_pods(stack.api, namespace, 4)
    assert dict(environment(pods[0]))["PET_NNODES"] == "4:2"


@shows("unreachable-init-image")
def test_each_worker_waits_in_an_image_of_the_operator_s(
    stack: Stack, namespace: str, compiled: Callable[..., Manifest]
) -> None:
    put(stack.api, compiled(SEVERAL), namespace)
    master, worker = sorted(
        made_pods(stack.api, namespace, 2), key=lambda pod: pod["metadata"]["name"]
    )
    assert "initContainers" not in master["spec"]
    images = {each["name"]: each["image"] for each in worker["spec"]["initContainers"]}
    assert images == {"init-pytorch": "alpine:3.10"}


@shows("master-readiness-probe", "rendezvous-port-mismatch")
def test_a_service_has_no_address_of_what_is_not_ready_and_only_declared_ports(
    stack: Stack, namespace: str, compiled: Callable[..., Manifest]
) -> None:
    made = compiled(SEVERAL)
    main_of(made)["command"] = ["torchrun", "--master_port", "29500", "train.py"]
    put(stack.api, made, namespace)
    made_pods(stack.api, namespace, 2)
    name = f"{made['metadata']['name']}-master-0"
    service = stack.api.until(lambda: stack.api.get("v1/Service", name, namespace))
    assert service["spec"].get("publishNotReadyAddresses", False) is False
    assert service["spec"]["clusterIP"] == "None"
    assert [each["port"] for each in service["spec"]["ports"]] == [23456]


@shows("pod-restart-policy")
def test_the_operator_overwrites_the_restart_policy_of_a_template(
    stack: Stack, namespace: str, compiled: Callable[..., Manifest]
) -> None:
    made = compiled(SEVERAL)
    spec_of(made)["restartPolicy"] = "Always"
    put(stack.api, made, namespace)
    pods = made_pods(stack.api, namespace, 2)
    wanted = {role["restartPolicy"] for role in made["spec"]["pytorchReplicaSpecs"].values()}
    assert {pod["spec"]["restartPolicy"] for pod in pods} == wanted != {"Always"}
    warned(stack.api, namespace, "Restart policy in pod template")


@shows("reserved-label")
def test_the_operator_overwrites_its_own_labels(
    stack: Stack, namespace: str, compiled: Callable[..., Manifest]
) -> None:
    made = compiled(SEVERAL)
    label = "training.kubeflow.org/replica-index"
    for role in made["spec"]["pytorchReplicaSpecs"].values():
        role["template"]["metadata"].setdefault("labels", {})[label] = "7"
    put(stack.api, made, namespace)
    pods = made_pods(stack.api, namespace, 2)
    assert {pod["metadata"]["labels"][label] for pod in pods} == {"0"}


@shows("unnamed-port", "conflicting-ports", "name-too-long-for-pods")
@pytest.mark.parametrize("fault", ["port", "name"])
def test_a_job_whose_service_is_refused_loops_while_its_pods_wait(
    fault: str, stack: Stack, namespace: str, compiled: Callable[..., Manifest]
) -> None:
    made = compiled(SEVERAL)
    if fault == "port":
        main_of(made)["ports"].append({"containerPort": 9400})
    else:
        made["metadata"]["name"] = "a" * 55
    put(stack.api, made, namespace)
    made_pods(stack.api, namespace, 1)

    def tries() -> int:
        events = stack.api.list("v1/Event", namespace)
        return sum(
            each.get("count") or 1 for each in events if each["reason"] == "FailedCreateService"
        )

    stack.api.until(tries, lambda count: count >= 3, 60, "third try")
    job = stack.api.get(PYTORCHJOB, made["metadata"]["name"], namespace)
    # Nobody who looks at the job alone learns of it.
    assert condition(job, "Failed") is None
    assert condition(job, "Running") is None


@shows("unknown-choice")
def test_a_misspelt_restart_policy_leaves_a_job_without_pods(
    stack: Stack, namespace: str, compiled: Callable[..., Manifest]
) -> None:
    made = compiled(SEVERAL)
    for role in made["spec"]["pytorchReplicaSpecs"].values():
        role["restartPolicy"] = "OnFailur"
    put(stack.api, made, namespace)
    warned(stack.api, namespace, 'Unsupported value: "OnFailur"')
    assert stack.api.list("v1/Pod", namespace) == []
    job = stack.api.get(PYTORCHJOB, made["metadata"]["name"], namespace)
    assert condition(job, "Failed") is None


@shows("operator-container-refused")
def test_a_restricted_namespace_gets_the_first_node_and_no_worker(
    stack: Stack, namespace: str, compiled: Callable[..., Manifest]
) -> None:
    level = {"pod-security.kubernetes.io/enforce": "restricted"}
    stack.api.patch("v1/Namespace", namespace, None, {"metadata": {"labels": level}})
    put(stack.api, compiled("operator-container-refused", page=True), namespace)
    warned(stack.api, namespace, 'container "init-pytorch"')
    (pod,) = made_pods(stack.api, namespace, 1)
    assert pod["metadata"]["labels"]["training.kubeflow.org/replica-type"] == "master"


@shows("deadline-not-timed")
def test_a_deadline_passes_until_something_else_happens_to_the_job(
    stack: Stack, namespace: str, compiled: Callable[..., Manifest]
) -> None:
    made = compiled(SEVERAL)
    name = made["metadata"]["name"]
    made["spec"]["runPolicy"]["activeDeadlineSeconds"] = 3
    put(stack.api, made, namespace)
    made_pods(stack.api, namespace, 2)
    stack.api.until(
        lambda: stack.api.get(PYTORCHJOB, name, namespace),
        lambda found: "startTime" in (found.get("status") or {}),
        30,
        "time of the start",
    )
    time.sleep(8)
    late = stack.api.get(PYTORCHJOB, name, namespace)
    assert condition(late, "Failed") is None
    note = {"metadata": {"annotations": {"example.com/touched": "yes"}}}
    stack.api.patch(PYTORCHJOB, name, namespace, note)
    stack.api.until(
        lambda: stack.api.get(PYTORCHJOB, name, namespace),
        lambda found: condition(found, "Failed") == "True",
        30,
        "failure",
    )


# --- what the API server takes -------------------------------------------------------------------

TAKEN: dict[str, Callable[[Manifest], Any]] = {
    "bad-image-reference": lambda made: main_of(made).update(image="registry/UP:er@x"),
    "bad-path": lambda made: main_of(made)["volumeMounts"][0].update(mountPath="da:ta"),
    "memory-in-milli": lambda made: main_of(made).update(
        resources={"limits": {"memory": "512m"}, "requests": {"memory": "512m"}}
    ),
    "read-only-claim-written": lambda made: (
        spec_of(made)["volumes"].append(
            {"name": "d", "persistentVolumeClaim": {"claimName": "datasets"}}
        ),
        main_of(made)["volumeMounts"].append({"name": "d", "mountPath": "/d"}),
    ),
    "root-refused-by-kubelet": lambda made: spec_of(made).update(
        securityContext={"runAsUser": 0, "runAsNonRoot": True}
    ),
    "host-path": lambda made: spec_of(made)["volumes"].append(
        {"name": "h", "hostPath": {"path": "/etc"}}
    ),
}


@shows(*TAKEN)
@pytest.mark.parametrize("rule", sorted(TAKEN))
def test_the_server_takes_what_fails_on_the_node(
    rule: str, stack: Stack, namespace: str, compiled: Callable[..., Manifest]
) -> None:
    made = as_pytorchjob(compiled(job()))
    made["metadata"]["namespace"] = namespace
    TAKEN[rule](made)
    spec_of(made).pop("priorityClassName", None)
    stack.api.apply(made, dry_run=True)
    (pod,) = replicas.pods(made)
    stack.api.create(pod, dry_run=True)


@shows("ambiguous-mount", "overlapping-mounts", "empty-value")
def test_what_the_server_makes_of_half_a_value(
    stack: Stack, namespace: str, compiled: Callable[..., Manifest]
) -> None:
    made = compiled(job())
    made["metadata"]["namespace"] = namespace
    made["spec"]["backoffLimit"] = None
    spec_of(made).pop("priorityClassName", None)
    spec_of(made)["volumes"][0] = {"name": spec_of(made)["volumes"][0]["name"]}
    main_of(made)["volumeMounts"].append({"name": "shm", "mountPath": "/ckpt/"})
    taken = stack.api.apply(made, dry_run=True)
    assert taken["spec"]["backoffLimit"] == 6
    assert spec_of(taken)["volumes"][0]["emptyDir"] == {}
    paths = [each["mountPath"] for each in main_of(taken)["volumeMounts"]]
    assert {"/ckpt", "/ckpt/"} <= set(paths)


# --- Kueue ---------------------------------------------------------------------------------------


def flavored(nominal: dict[str, int | str], flavor: str) -> dict[str, Any]:
    return {
        "coveredResources": list(nominal),
        "flavors": [
            {
                "name": flavor,
                "resources": [{"name": n, "nominalQuota": q} for n, q in nominal.items()],
            }
        ],
    }


class Quota:
    """A queue of 16 accelerators in a namespace, whose nodes have a label and a taint."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api, self.namespace, self.name = api, namespace, namespace
        self.nominal: dict[str, int | str] = {
            CORES: 1000, MEMORY: "10Ti", GPU: 16, COVERED[3]: 100
        }  # fmt: skip
        taint = {"key": "example.com/a", "effect": "NoSchedule"}
        self._apply("ResourceFlavor", {
            "nodeLabels": {"example.com/pool": "h100"},
            "nodeTaints": [taint],
            "tolerations": [{"key": "example.com/a", "operator": "Exists"}],
        })  # fmt: skip
        self.apply()
        self.api.apply(self._object("LocalQueue", {"clusterQueue": self.name}) | {
            "metadata": {"name": "queue", "namespace": namespace},
        })  # fmt: skip

    def apply(self, **more: Any) -> None:
        """Write the ClusterQueue with more fields, and with `nominal` as it now is."""
        selector = {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}}
        group = flavored(self.nominal, self.name)
        self._apply(
            "ClusterQueue", {"namespaceSelector": selector, "resourceGroups": [group], **more}
        )

    def _object(self, kind: str, spec: dict[str, Any]) -> Manifest:
        return {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": kind,
            "metadata": {"name": self.name},
            "spec": spec,
        }

    def _apply(self, kind: str, spec: dict[str, Any]) -> None:
        self.api.apply(self._object(kind, spec))

    def workload(self, name: str, holds: Callable[[Manifest], bool]) -> Manifest:
        """The Workload of a job once something holds of it."""

        def mine() -> Manifest:
            for each in self.api.list(WORKLOAD, self.namespace):
                owners = each["metadata"].get("ownerReferences", [])
                if any(owner["name"] == name for owner in owners):
                    return each
            return {}

        return self.api.until(mine, lambda found: bool(found) and holds(found), 30, "workload")

    def admitted(self, name: str) -> Manifest:
        return self.workload(name, lambda found: condition(found, "Admitted") == "True")

    def pending(self, name: str) -> str:
        """Why the Workload of a job has no quota, once Kueue has said so."""
        found = self.workload(name, lambda each: condition(each, "QuotaReserved") == "False")
        assert self.job(name)["spec"]["runPolicy"]["suspend"] is True
        conditions = found["status"]["conditions"]
        return next(each["message"] for each in conditions if each["type"] == "QuotaReserved")

    def job(self, name: str) -> Manifest:
        return self.api.get(PYTORCHJOB, name, self.namespace)

    def gone(self) -> None:
        self.api.delete_all(PYTORCHJOB, self.namespace)
        for kind in ("ClusterQueue", "ResourceFlavor"):
            self.api.delete(f"kueue.x-k8s.io/v1beta2/{kind}", self.name)


@pytest.fixture
def quota(stack: Stack, namespace: str) -> Iterator[Quota]:
    made = Quota(stack.api, namespace)
    yield made
    made.gone()


@shows("missing-queue")
def test_a_job_without_a_queue_starts_outside_of_all_quotas(
    quota: Quota, compiled: Callable[..., Manifest]
) -> None:
    put(quota.api, compiled(SEVERAL), quota.namespace)
    made_pods(quota.api, quota.namespace, 2)
    assert quota.api.list(WORKLOAD, quota.namespace) == []


@shows("unknown-queue", "queue-not-allowed")
def test_a_job_of_a_queue_that_is_not_there_waits_suspended(
    quota: Quota, compiled: Callable[..., Manifest]
) -> None:
    made = put(quota.api, compiled(SEVERAL), quota.namespace, "reserch")
    assert "doesn't exist" in quota.pending(made["metadata"]["name"])
    assert quota.api.list("v1/Pod", quota.namespace) == []


@shows("unknown-priority")
def test_a_job_of_a_priority_that_is_not_there_gets_no_workload(
    quota: Quota, compiled: Callable[..., Manifest]
) -> None:
    made = compiled(SEVERAL)
    made["metadata"]["namespace"] = quota.namespace
    made["metadata"]["labels"] |= {QUEUE: "queue", PRIORITY: "hihg"}
    quota.api.apply(made)
    time.sleep(3)
    assert quota.api.list(WORKLOAD, quota.namespace) == []
    job = quota.job(made["metadata"]["name"])
    assert job["spec"]["runPolicy"]["suspend"] is True


@shows("accelerator-not-in-queue", "resource-not-in-queue", "queue-without-flavor")
@pytest.mark.parametrize("missing", [GPU, COVERED[3]])
def test_one_resource_that_is_not_covered_keeps_a_job_pending(
    missing: str, quota: Quota, compiled: Callable[..., Manifest]
) -> None:
    del quota.nominal[missing]
    quota.apply()
    made = put(quota.api, compiled(SEVERAL), quota.namespace, "queue")
    said = quota.pending(made["metadata"]["name"])
    assert f"resource {missing} unavailable in ClusterQueue" in said


@shows("above-quota")
def test_a_job_above_the_quota_waits_with_a_note_in_its_workload_alone(
    quota: Quota, compiled: Callable[..., Manifest]
) -> None:
    quota.nominal[GPU] = 8
    quota.apply()
    made = put(quota.api, compiled(SEVERAL), quota.namespace, "queue")
    assert "insufficient quota for nvidia.com/gpu" in quota.pending(made["metadata"]["name"])
    conditions = quota.job(made["metadata"]["name"]).get("status", {}).get("conditions", [])
    assert "quota" not in str(conditions)


@shows("quota-above-nodes", "too-many-accelerators-per-node", "more-nodes-than-exist")
def test_a_job_is_admitted_where_no_node_could_take_it(
    quota: Quota, compiled: Callable[..., Manifest]
) -> None:
    assert quota.api.list("v1/Node", labels="example.com/pool=h100") == []
    made = put(quota.api, compiled(SEVERAL), quota.namespace, "queue")
    quota.admitted(made["metadata"]["name"])
    made_pods(quota.api, quota.namespace, 2)


@shows("quota-below-use")
def test_a_lowered_quota_stops_nothing(quota: Quota, compiled: Callable[..., Manifest]) -> None:
    made = put(quota.api, compiled(SEVERAL), quota.namespace, "queue")
    quota.admitted(made["metadata"]["name"])
    quota.nominal[GPU] = 4
    quota.apply()
    second = compiled(SEVERAL)
    second["metadata"]["name"] = "second"
    put(quota.api, second, quota.namespace, "queue")
    quota.pending("second")
    quota.admitted(made["metadata"]["name"])
    assert quota.job(made["metadata"]["name"])["spec"]["runPolicy"]["suspend"] is False


@shows("node-selector-beside-queue", "toleration-beside-queue")
def test_each_sync_takes_out_what_kueue_put_beside_a_selector_of_the_run(
    quota: Quota, compiled: Callable[..., Manifest]
) -> None:
    made = compiled(SEVERAL)
    name = made["metadata"]["name"]
    for role in made["spec"]["pytorchReplicaSpecs"].values():
        role["template"]["spec"] |= {
            "nodeSelector": {"example.com/zone": "a"},
            "tolerations": [{"key": "example.com/own", "operator": "Exists"}],
        }
    put(quota.api, made, quota.namespace, "queue")
    quota.admitted(name)
    kueue = {"example.com/zone": "a", "example.com/pool": "h100"}
    found = quota.api.until(
        lambda: quota.job(name), lambda job: spec_of(job)["nodeSelector"] == kueue, 30, "selector"
    )
    assert len(spec_of(found)["tolerations"]) == 2
    again = quota.api.apply(made)
    assert spec_of(again)["nodeSelector"] == {"example.com/zone": "a"}
    assert len(spec_of(again)["tolerations"]) == 1


def test_a_sync_of_a_run_without_selectors_leaves_kueue_s_alone(
    quota: Quota, compiled: Callable[..., Manifest]
) -> None:
    made = put(quota.api, compiled(SEVERAL), quota.namespace, "queue")
    name = made["metadata"]["name"]
    quota.admitted(name)
    sent = compiled(SEVERAL)
    put(quota.api, sent, quota.namespace, "queue")
    assert spec_of(quota.job(name))["nodeSelector"] == {"example.com/pool": "h100"}
    assert quota.job(name)["spec"]["runPolicy"]["suspend"] is False


def synced_with_pods(quota: Quota, manifest: Manifest) -> set[str]:
    """The Pods there are, by their uids, once a manifest is applied that says `suspend`."""
    assert quota.api.apply(manifest)["spec"]["runPolicy"]["suspend"] is True
    return {pod["metadata"]["uid"] for pod in quota.api.list("v1/Pod", quota.namespace)}


@shows("forbidden-base-value")
def test_a_suspend_of_the_syncer_s_fights_with_kueue(
    quota: Quota, compiled: Callable[..., Manifest]
) -> None:
    made = compiled(SEVERAL)
    made["spec"]["runPolicy"]["suspend"] = True
    put(quota.api, made, quota.namespace, "queue")
    name = made["metadata"]["name"]
    started: set[str] = set()
    for _ in range(2):
        quota.api.until(
            lambda: quota.job(name), lambda job: not job["spec"]["runPolicy"]["suspend"], 30
        )
        pods = made_pods(quota.api, quota.namespace, 2)
        uids = {pod["metadata"]["uid"] for pod in pods}
        assert not uids & started
        started |= uids
        # The next syncs: all Pods end, and Kueue lets the job start once more. Kueue may answer one
        # of them before the operator has seen it.
        quota.api.until(
            lambda: synced_with_pods(quota, made),
            lambda found, uids=uids: not found & uids,
            60,
            "the Pods to end",
        )


@shows("unknown-topology", "topology-without-queue")
def test_a_level_that_no_topology_has_keeps_a_job_pending_only_in_a_queue(
    quota: Quota, compiled: Callable[..., Manifest]
) -> None:
    made = compiled(SEVERAL)
    for role in made["spec"]["pytorchReplicaSpecs"].values():
        notes = role["template"]["metadata"].setdefault("annotations", {})
        notes["kueue.x-k8s.io/podset-required-topology"] = "topology.example.com/blok"
    free = copy.deepcopy(made)
    free["metadata"]["name"] = "free"
    put(quota.api, made, quota.namespace, "queue")
    assert "opology" in quota.pending(made["metadata"]["name"])
    put(quota.api, free, quota.namespace)
    made_pods(quota.api, quota.namespace, 2)


@shows("circular-cohorts")
def test_a_circle_of_cohorts_stops_admission(
    quota: Quota, compiled: Callable[..., Manifest]
) -> None:
    names = [f"{quota.name}-a", f"{quota.name}-b"]
    for name, parent in (names, names[::-1]):
        quota.api.apply({
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Cohort",
            "metadata": {"name": name},
            "spec": {"parentName": parent},
        })  # fmt: skip
    quota.apply(cohortName=names[0])
    time.sleep(1)
    made = put(quota.api, compiled(SEVERAL), quota.namespace, "queue")
    time.sleep(4)
    job = quota.job(made["metadata"]["name"])
    assert job["spec"]["runPolicy"]["suspend"] is True
    for name in names:
        quota.api.delete("kueue.x-k8s.io/v1beta2/Cohort", name)
    # The circle was the only reason.
    quota.apply()
    quota.admitted(made["metadata"]["name"])


@shows("foreign-namespace")
def test_a_run_in_kueue_s_own_namespace_is_not_admitted(
    quota: Quota, compiled: Callable[..., Manifest]
) -> None:
    queue = quota._object("LocalQueue", {"clusterQueue": quota.name})
    queue["metadata"] = {"name": "own", "namespace": "kueue-system"}
    quota.apply(namespaceSelector={})
    quota.api.apply(queue)
    made = put(quota.api, compiled(SEVERAL), "kueue-system", "own")
    try:
        time.sleep(4)
        found = quota.api.list(WORKLOAD, "kueue-system")
        assert [condition(each, "Admitted") for each in found] in ([], [None], ["False"])
    finally:
        quota.api.delete(PYTORCHJOB, made["metadata"]["name"], "kueue-system")
        quota.api.delete("kueue.x-k8s.io/v1beta2/LocalQueue", "own", "kueue-system")
