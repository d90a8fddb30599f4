"""The Pods and Services that a controller would make of a training object, for dry runs.

From the sources of training-operator 1.9 (pkg/controller.v1/common/pod.go and service.go) and of
the Job controller; a test compares them with what the real controllers make.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator

from controlplane.api import Manifest

POLICIES = {"Always": "Always", "OnFailure": "OnFailure", "Never": "Never", "ExitCode": "Never"}


def templates(manifest: Manifest) -> Iterator[tuple[str, Manifest]]:
    """The end of a Pod's name, and its template: of each kind of replica the last one."""
    spec = manifest["spec"]
    if manifest["kind"] == "Job":
        yield "abcde", spec["template"]
        return
    for kind, replica in spec["pytorchReplicaSpecs"].items():
        yield f"{kind.lower()}-{replica.get('replicas', 1) - 1}", replica["template"]


def pods(manifest: Manifest) -> list[Manifest]:
    """A Pod of each kind of replica, without what the operator adds for the rendezvous."""
    name = manifest["metadata"]["name"]
    made: list[Manifest] = []
    for end, template in templates(manifest):
        pod = copy.deepcopy(template)
        pod |= {"apiVersion": "v1", "kind": "Pod"}
        pod.setdefault("metadata", {})
        pod["metadata"] |= {"name": f"{name}-{end}", "namespace": namespace_of(manifest)}
        if manifest["kind"] == "PyTorchJob":
            replica = manifest["spec"]["pytorchReplicaSpecs"][end.partition("-")[0].capitalize()]
            policy = replica.get("restartPolicy", "OnFailure")
            pod["spec"]["restartPolicy"] = POLICIES.get(policy, policy)
        made.append(pod)
    return made


def services(manifest: Manifest) -> list[Manifest]:
    """The headless Service of each of those Pods; a batch Job has none."""
    if manifest["kind"] == "Job":
        return []
    return [service(pod) for pod in pods(manifest)]


def service(pod: Manifest) -> Manifest:
    """The Service that the operator makes for a Pod, with the ports of its container `pytorch`."""
    (container,) = (each for each in pod["spec"]["containers"] if each["name"] == "pytorch")
    ports = [dict(each) for each in container.get("ports", ())]
    if all(each.get("name") != "pytorchjob-port" for each in ports):
        ports.append({"name": "pytorchjob-port", "containerPort": 23456})
    listed = [{"name": each.get("name", ""), "port": each["containerPort"]} for each in ports]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": pod["metadata"]["name"],
            "namespace": pod["metadata"]["namespace"],
        },
        "spec": {
            "clusterIP": "None",
            "selector": {"training.kubeflow.org/replica-index": "0"},
            "ports": listed,
        },
    }


def namespace_of(manifest: Manifest) -> str:
    """The namespace that an object is in."""
    namespace: str = manifest["metadata"]["namespace"]
    return namespace
