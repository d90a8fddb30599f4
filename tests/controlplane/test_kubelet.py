"""The test kubelet by itself: what it makes of pods that nobody but this test has written."""

from __future__ import annotations

import base64
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from controlplane.kubelet.agent import Kubelet
from controlplane.kubelet.expansion import NotThere, environment, expand
from controlplane.kubelet.localpaths import LocalPaths
from controlplane.kubelet.names import Neighbours, Network
from controlplane.kubelet.nodes import wanted
from controlplane.kubelet.paper import PaperCluster

Object = dict[str, Any]


@pytest.fixture
def cluster() -> PaperCluster:
    return PaperCluster()


@pytest.fixture
def kubelet(cluster: PaperCluster) -> Iterator[Kubelet]:
    with Kubelet(cluster, backoff=0.05) as made:
        yield made


def sh(script: str, name: str = "pytorch", **more: Any) -> Object:
    return {"name": name, "image": "none", "command": ["/bin/sh", "-c", script], **more}


def spec(*containers: Object, policy: str = "Never", **more: Any) -> Object:
    return {
        "restartPolicy": policy,
        "containers": list(containers),
        "terminationGracePeriodSeconds": 5,
        **more,
    }


def exits(status: Object) -> dict[str, int]:
    return {
        one["name"]: one["state"]["terminated"]["exitCode"]
        for one in [*status.get("initContainerStatuses", ()), *status["containerStatuses"]]
        if "terminated" in one["state"]
    }


def main(status: Object) -> Object:
    return status["containerStatuses"][0]


def running(status: Object) -> bool:
    return all("running" in one["state"] for one in status["containerStatuses"])


# --- references -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("$(A)", "1"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A ${A} $", "$A ${A} $"),
        ("$(B)-$(A)", "$(B)-1"),
        ("$(A", "$(A"),
        ("$(A)$(A)", "11"),
        ("$$", "$"),
    ],
)
def test_references_are_put_in_as_the_api_says(text: str, made: str) -> None:
    assert expand(text, {"A": "1"}) == made


def test_variables_see_those_before_them_and_the_last_of_a_name_counts() -> None:
    listed = [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "$(A)$(C)"},
        {"name": "C", "value": "3"},
        {"name": "A", "value": "$(C)"},
    ]
    found = environment({"metadata": {}}, {"env": listed}, lambda kind, name: None)
    assert found == {"A": "3", "B": "1$(C)", "C": "3"}


def test_variables_come_from_fields_config_maps_and_secrets() -> None:
    objects = {
        ("ConfigMap", "settings"): {"data": {"level": "high"}},
        ("Secret", "token"): {"data": {"key": base64.b64encode(b"open").decode()}},
    }
    pod = {
        "metadata": {"name": "p-0", "labels": {"a/b": "yes"}, "namespace": "space"},
        "spec": {"nodeName": "n1"},
    }
    container = {
        "env": [
            {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "LABEL", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a/b']"}}},
            {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "token", "key": "key"}}},
            {
                "name": "NONE",
                "valueFrom": {"secretKeyRef": {"name": "gone", "key": "x", "optional": True}},
            },
        ],
        "envFrom": [{"prefix": "CFG_", "configMapRef": {"name": "settings"}}],
    }
    found = environment(pod, container, lambda kind, name: objects.get((kind, name)))
    assert found == {
        "CFG_level": "high",
        "NAME": "p-0",
        "LABEL": "yes",
        "NODE": "n1",
        "KEY": "open",
    }
    with pytest.raises(NotThere, match="token"):
        environment(pod, container, lambda kind, name: None if kind == "Secret" else {"data": {}})


def test_paths_are_replaced_where_they_are_paths(tmp_path: Any) -> None:
    paths = LocalPaths({"/data": tmp_path / "d", "/data/deep": tmp_path / "e"})
    assert paths.here("/data/x") == f"{tmp_path}/d/x"
    assert paths.here("--in=/data,/data/deep/y") == f"--in={tmp_path}/d,{tmp_path}/e/y"
    assert paths.here("/database /mnt/data s3:/data-2") == "/database /mnt/data s3:/data-2"


def test_nodes_of_a_job_meet_on_loopback() -> None:
    network = Network()
    labels = {"training.kubeflow.org/job-name": "fit-r1"}
    ports = [{"name": "pytorchjob-port", "containerPort": 23456}]

    def pod(name: str) -> Neighbours:
        names = {"name": name, "namespace": "a", "labels": labels}
        spec = {"containers": [{"name": "pytorch", "ports": ports}]}
        return Neighbours(network, {"metadata": names, "spec": spec})

    given = {"MASTER_ADDR": "fit-r1-master-0", "MASTER_PORT": "23456", "WORLD_SIZE": "23456"}
    first = pod("fit-r1-master-0").variables(given)
    assert first == pod("fit-r1-worker-0").variables(given)
    assert first["MASTER_ADDR"].startswith("127.")
    assert first["MASTER_PORT"] not in ("23456", "")
    assert first["WORLD_SIZE"] == "23456"
    other = pod("fit-r1-worker-0").text("fit-r1-master-0.a.svc:23456 fit-r1-worker-1 my-fit-r1-x")
    address, worker, rest = other.split(" ")
    assert address == f"{first['MASTER_ADDR']}:{first['MASTER_PORT']}"
    assert worker.startswith("127.")
    assert worker != first["MASTER_ADDR"]
    assert rest == "my-fit-r1-x"
    elastic = {"PET_RDZV_BACKEND": "c10d", "PET_RDZV_ENDPOINT": "fit-r1-worker-0:23456"}
    assert pod("fit-r1-worker-0").variables(elastic)["PET_RDZV_CONF"] == "is_host=true"
    assert pod("fit-r1-worker-1").variables(elastic)["PET_RDZV_CONF"] == "is_host=false"


def test_a_node_is_asked_for_by_selector_and_affinity() -> None:
    term = {"matchExpressions": [{"key": "gpu", "operator": "In", "values": ["H100", "H200"]}]}
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}
        }
    }
    asked = {"nodeSelector": {"rack": "r1"}, "affinity": affinity}
    assert wanted({"spec": asked}) == {"rack": "r1", "gpu": "H100"}
    assert wanted({"spec": {**asked, "nodeSelector": {"gpu": "H200"}}}) == {"gpu": "H200"}
    assert wanted({"spec": {**asked, "nodeSelector": {"gpu": "A100"}}}) is None


# --- the life of a pod ----------------------------------------------------------------------


@pytest.mark.usefixtures("kubelet")
def test_a_pod_ends_as_its_command_does(cluster: PaperCluster) -> None:
    cluster.add(spec({"name": "c", "image": "none", "command": ["true"]}), "good")
    cluster.add(spec({"name": "c", "image": "none", "command": ["false"]}), "bad")
    cluster.add(spec({"name": "c", "image": "none", "command": ["no-such-program"]}), "absent")
    good = cluster.until(lambda status: status["phase"] == "Succeeded", "good")
    assert main(good)["state"]["terminated"]["reason"] == "Completed"
    bad = cluster.until(lambda status: status["phase"] == "Failed", "bad")
    assert main(bad)["state"]["terminated"].items() >= {"exitCode": 1, "reason": "Error"}.items()
    absent = cluster.until(lambda status: status["phase"] == "Failed", "absent")
    assert main(absent)["state"]["terminated"]["reason"] == "StartError"
    assert [main(status)["restartCount"] for status in (good, bad, absent)] == [0, 0, 0]


def test_on_failure_starts_again_in_the_same_pod_until_it_ends_well(
    cluster: PaperCluster, kubelet: Kubelet
) -> None:
    script = 'echo try; mkdir -p "$HOME/x"; if [ -e "$HOME/x/b" ]; then exit 0; fi; '
    script += 'if [ -e "$HOME/x/a" ]; then touch "$HOME/x/b"; else touch "$HOME/x/a"; fi; exit 3'
    cluster.add(spec(sh(script), policy="OnFailure"))
    done = cluster.until(lambda status: status["phase"] == "Succeeded")
    assert main(done)["restartCount"] == 2
    assert main(done)["lastState"]["terminated"]["exitCode"] == 3
    assert kubelet.logs("default", "pod") == "try\n" * 3


@pytest.mark.usefixtures("kubelet")
def test_always_starts_again_after_a_good_end(cluster: PaperCluster) -> None:
    cluster.add(spec(sh("exit 0"), policy="Always"))
    again = cluster.until(lambda status: main(status)["restartCount"] >= 2)
    assert again["phase"] == "Running"


def test_a_killed_container_ends_with_137_and_all_that_it_started(
    cluster: PaperCluster, kubelet: Kubelet
) -> None:
    cluster.add(spec(sh("setsid sleep 300 & echo up; sleep 300; :")))
    cluster.until(running)
    container = kubelet.process("default", "pod")
    while len(container.processes()) < 3:
        time.sleep(0.02)
    kubelet.kill("default", "pod")
    ended = cluster.until(lambda status: status["phase"] == "Failed")
    assert exits(ended) == {"pytorch": 128 + signal.SIGKILL}
    assert container.processes() == []


def test_init_containers_run_in_order_and_sidecars_beside(
    cluster: PaperCluster, kubelet: Kubelet
) -> None:
    mount = {"volumeMounts": [{"name": "s", "mountPath": "/s"}]}
    inits = [
        sh("echo one >> /s/order", "one", **mount),
        sh("echo side >> /s/order; trap 'exit 0' TERM; while :; do sleep 0.05; done", "side")
        | {"restartPolicy": "Always", **mount},
        sh(
            "while ! grep -q side /s/order; do sleep 0.05; done; echo two >> /s/order",
            "two",
            **mount,
        ),
    ]
    pod = spec(
        sh("cat /s/order", **mount), initContainers=inits, volumes=[{"name": "s", "emptyDir": {}}]
    )
    cluster.add(pod)
    done = cluster.until(lambda s: s["phase"] == "Succeeded" and "side" in exits(s))
    assert kubelet.logs("default", "pod", "pytorch").split() == ["one", "side", "two"]
    assert exits(done) == {"one": 0, "side": 0, "two": 0, "pytorch": 0}


@pytest.mark.usefixtures("kubelet")
def test_a_failed_init_container_fails_a_pod_that_never_restarts(cluster: PaperCluster) -> None:
    cluster.add(spec(sh("exit 0"), initContainers=[sh("exit 4", "setup")]))
    ended = cluster.until(lambda status: status["phase"] == "Failed")
    assert exits(ended) == {"setup": 4}
    assert main(ended)["state"]["waiting"]["reason"] == "PodInitializing"


def test_deletion_sends_sigterm_and_lets_the_command_finish(
    cluster: PaperCluster, kubelet: Kubelet
) -> None:
    cluster.add(
        spec(sh("trap 'sleep 0.5; echo saved; exit 0' TERM; echo up; while :; do sleep 0.05; done"))
    )
    cluster.until(running)
    while "up" not in kubelet.logs("default", "pod"):
        time.sleep(0.02)
    cluster.delete()
    last = cluster.gone()
    assert exits(last) == {"pytorch": 0}
    assert last["phase"] == "Succeeded"
    assert kubelet.logs("default", "pod").endswith("saved\n")


def test_deletion_kills_what_outlives_the_grace(cluster: PaperCluster, kubelet: Kubelet) -> None:
    cluster.add(spec(sh("trap '' TERM; echo up; while :; do sleep 0.05; done"), policy="OnFailure"))
    cluster.until(running)
    while "up" not in kubelet.logs("default", "pod"):
        time.sleep(0.02)
    cluster.delete(grace=1)
    last = cluster.gone()
    assert exits(last) == {"pytorch": 137}
    assert last["phase"] == "Failed"


def test_a_pre_stop_command_comes_before_sigterm(cluster: PaperCluster, kubelet: Kubelet) -> None:
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo hook > /s/told; sleep 0.2"]}}}
    script = "trap 'cat /s/told; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    mounts = [{"name": "s", "mountPath": "/s"}]
    container = sh(script, lifecycle=hook, volumeMounts=mounts)
    # The hook's words name the mount as the container has it.
    cluster.add(spec(container, volumes=[{"name": "s", "emptyDir": {}}]))
    cluster.until(running)
    while "up" not in kubelet.logs("default", "pod"):
        time.sleep(0.02)
    cluster.delete()
    cluster.gone()
    assert kubelet.logs("default", "pod").split() == ["up", "hook"]


def test_a_pod_taken_away_by_force_leaves_no_process(
    cluster: PaperCluster, kubelet: Kubelet
) -> None:
    cluster.add(spec(sh("trap '' TERM; while :; do sleep 0.05; done")))
    cluster.until(running)
    process = kubelet.process("default", "pod")
    pod = cluster.pod()
    assert pod is not None
    cluster.remove(pod)
    end = time.monotonic() + 10
    while process.processes():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_an_evicted_pod_fails_for_good(cluster: PaperCluster, kubelet: Kubelet) -> None:
    cluster.add(spec(sh("sleep 300"), policy="OnFailure"))
    cluster.until(running)
    kubelet.evict("default", "pod")
    ended = cluster.until(lambda status: status["phase"] == "Failed")
    assert ended["reason"] == "Evicted"
    assert exits(ended) == {"pytorch": 137}


@pytest.mark.usefixtures("kubelet")
def test_a_deadline_ends_the_pod(cluster: PaperCluster) -> None:
    cluster.add(spec(sh("exec sleep 300"), policy="OnFailure", activeDeadlineSeconds=1))
    ended = cluster.until(lambda status: status["phase"] == "Failed")
    assert ended["reason"] == "DeadlineExceeded"
    assert exits(ended) == {"pytorch": 143}


def test_a_claim_outlives_its_pods_and_files_come_from_config_maps(
    cluster: PaperCluster, kubelet: Kubelet
) -> None:
    cluster.objects["ConfigMap", "default", "conf"] = {"data": {"a.yaml": "out: /keep/x\n"}}
    container = sh(
        "cat /etc/job/a.yaml; echo kept > $(OUT)/x",
        env=[{"name": "OUT", "value": "/keep"}],
        volumeMounts=[
            {"name": "keep", "mountPath": "/keep", "subPath": "deep"},
            {"name": "conf", "mountPath": "/etc/job/a.yaml", "subPath": "a.yaml"},
        ],
    )
    volumes = [
        {"name": "keep", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "conf", "configMap": {"name": "conf"}},
    ]
    cluster.add(spec(container, volumes=volumes))
    cluster.until(lambda status: status["phase"] == "Succeeded")
    kept = kubelet.claim("default", "c") / "deep" / "x"
    assert kept.read_text() == "kept\n"
    assert kubelet.logs("default", "pod") == f"out: {kept}\n"
    assert kubelet.environment("default", "pod") == {"OUT": "/keep"}


@pytest.mark.usefixtures("kubelet")
def test_a_container_waits_for_what_is_not_there_yet(cluster: PaperCluster) -> None:
    reference = {"secretKeyRef": {"name": "token", "key": "key"}}
    cluster.add(spec(sh('test "$T" = open', env=[{"name": "T", "valueFrom": reference}])))
    waits = cluster.until(lambda status: main(status)["state"].get("waiting", {}).get("message"))
    assert main(waits)["state"]["waiting"]["message"] == 'secret "token" not found'
    secret = {"data": {"key": base64.b64encode(b"open").decode()}}
    cluster.objects["Secret", "default", "token"] = secret
    cluster.until(lambda status: status["phase"] == "Succeeded")


def test_a_name_resolves_once_its_service_is_there_and_its_pod_ready(
    cluster: PaperCluster, kubelet: Kubelet
) -> None:
    labels = {"training.kubeflow.org/job-name": "fit"}
    look = "until nslookup fit-master-0; do sleep 0.05; done"
    cluster.add(
        spec(sh("echo met"), initContainers=[sh(look, "init")]), "fit-worker-0", labels=labels
    )
    cluster.add(spec(sh("sleep 300")), "fit-master-0", labels=labels)
    cluster.until(running, "fit-master-0")
    time.sleep(0.3)
    assert "init" not in exits(cluster.until(bool, "fit-worker-0"))
    cluster.objects["Service", "default", "fit-master-0"] = {}
    cluster.until(lambda status: status["phase"] == "Succeeded", "fit-worker-0")
    assert "NXDOMAIN" in kubelet.logs("default", "fit-worker-0", "init")


@pytest.mark.usefixtures("kubelet")
def test_a_gated_pod_waits_and_nodes_fit_those_that_they_get(cluster: PaperCluster) -> None:
    gates = [{"name": "kueue.x-k8s.io/topology"}]
    cluster.add(spec(sh("exit 0"), schedulingGates=gates), "gated")
    asked = {"nodeSelector": {"gpu": "H100"}}
    limits = {"limits": {"example.com/thing": "2"}}
    cluster.add(spec(sh("exit 0", resources=limits), **asked), "first")
    cluster.add(spec(sh("exit 0"), **asked), "second")
    cluster.until(lambda status: status["phase"] == "Succeeded", "first")
    cluster.until(lambda status: status["phase"] == "Succeeded", "second")
    assert len(cluster.nodes) == 1
    node = next(iter(cluster.nodes.values()))
    assert node["metadata"]["labels"]["gpu"] == "H100"
    assert "example.com/thing" in node["status"]["allocatable"]
    gated = cluster.pod("gated")
    assert gated is not None
    assert "nodeName" not in gated["spec"]


@pytest.mark.usefixtures("kubelet")
def test_the_end_of_the_log_is_the_message_where_the_container_wants_it(
    cluster: PaperCluster,
) -> None:
    told = sh("echo why it failed; exit 2", terminationMessagePolicy="FallbackToLogsOnError")
    cluster.add(spec(told))
    ended = cluster.until(lambda status: status["phase"] == "Failed")
    assert main(ended)["state"]["terminated"]["message"] == "why it failed\n"
