"""PyTorchJob (kubeflow.org/v1): runs on one or several nodes under Kubeflow's training operator.

Three shapes are written, the ones that work (training-operator 1.9, pkg/controller.v1/pytorch):

* one node: `Master` alone;
* several nodes: `Master` and `Worker`, static rendezvous through the variables of the operator;
* elastic: `Worker` alone with `elasticPolicy`, c10d rendezvous on worker 0.
"""

from __future__ import annotations

import hashlib

from compiler.backends import Object, Target
from compiler.features import FEATURES
from compiler.model import Member, Run
from compiler.podtemplate import object_metadata, passed, template
from compiler.podvolumes import files_objects
from compiler.site import Site

TARGET = Target(
    name="pytorchjob",
    api_version="kubeflow.org/v1",
    kind="PyTorchJob",
    keeps=FEATURES,
    templates=(
        ("spec", "pytorchReplicaSpecs", "Master", "template"),
        ("spec", "pytorchReplicaSpecs", "Worker", "template"),
    ),
)
PORT = 23456
PORT_NAME = "pytorchjob-port"


def emit(run: Run, site: Site) -> list[Object]:
    """The PyTorchJob of a run, and the ConfigMaps of its files."""
    if run.elastic is not None:
        roles: dict[str, Object] = {"Worker": _role(run, run.others, site, run.elastic.max)}
    elif run.nodes == 1:
        roles = {"Master": _role(run, run.first, site, 1)}
    else:
        roles = {
            "Master": _role(run, run.first, site, 1),
            "Worker": _role(run, run.others, site, run.nodes - 1),
        }
    spec: Object = {
        # The operator counts anything but a whole number as 1 in WORLD_SIZE, and torchrun takes
        # `auto` on CPUs for all cores of the node.
        "nprocPerNode": str(run.others.processes),
        "runPolicy": _policy(run, site),
        "pytorchReplicaSpecs": roles,
    }
    if run.elastic is not None:
        spec = {"elasticPolicy": _elastic(run), **spec}
    job = {
        "apiVersion": TARGET.api_version,
        "kind": TARGET.kind,
        "metadata": object_metadata(run, site),
        "spec": spec,
    }
    return [job, *files_objects(run)]


def port(run: Run) -> int:
    """The rendezvous port: the operator's own, or one of the run's own on the nodes' network.

    With the host's network two runs on a node would meet on the fixed port.
    """
    if not run.host_network:
        return PORT
    who = run.identity
    digest = hashlib.sha256(f"{who.namespace}/{who.name}".encode()).digest()
    return 20000 + int.from_bytes(digest[:4], "big") % 10000


def _role(run: Run, member: Member, site: Site, replicas: int) -> Object:
    # The port is always written: it must have this name, or the operator adds a second one.
    ports = [{"name": PORT_NAME, "containerPort": port(run), "protocol": "TCP"}]
    pod = template(run, member, site, restart_policy=None, ports=ports)
    return {
        "replicas": replicas,
        # The controller's default is OnFailure without a limit; both are always written out.
        "restartPolicy": "OnFailure" if _restarts(run) else "Never",
        "template": passed(pod, member),
    }


def _policy(run: Run, site: Site) -> Object:
    # The limit is shared by all pods: each restart of a container, also of a sidecar, counts once
    # (pkg/core/job.go, PastBackoffLimit).
    policy: Object = {
        "backoffLimit": _restarts(run) * run.nodes + 1 if _restarts(run) else 0,
        # The default, None, leaves workers on their accelerators after the master has ended.
        "cleanPodPolicy": "Running",
    }
    if run.max_duration is not None and not (site.kueue and run.queue is not None):
        policy["activeDeadlineSeconds"] = run.max_duration
    return policy


def _restarts(run: Run) -> int:
    """How often all pods may start over.

    An elastic run outlives the loss of a node, so its pods always come back: under Never a single
    lost pod would fail the job, whatever torchrun could still do.
    """
    if run.elastic is not None:
        return max(run.retries, run.elastic.max_restarts, 1)
    return run.retries


def _elastic(run: Run) -> Object:
    assert run.elastic is not None
    elastic = run.elastic
    policy: Object = {
        "rdzvBackend": elastic.backend,
        "minReplicas": elastic.min,
        "maxReplicas": elastic.max,
        "maxRestarts": elastic.max_restarts,
        "rdzvId": run.identity.name,
    }
    if elastic.endpoint is not None:
        host, _, number = elastic.endpoint.rpartition(":")
        policy["rdzvHost"] = host or elastic.endpoint
        if host and number.isdigit():
            policy["rdzvPort"] = int(number)
    # An empty list makes the controller panic (pkg/controller.v1/pytorch/elastic.go).
    if elastic.conf:
        policy["rdzvConf"] = [{"key": key, "value": value} for key, value in elastic.conf]
    return policy
