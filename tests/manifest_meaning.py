"""What a PyTorchJob means, leaf by leaf, however it is written.

Two objects that mean the same to the operator have the same leaves: defaults are filled in,
quantities are numbers, lists with keys are mappings, a volume stands where it is mounted, and the
guard's command is the one that it guards.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from compiler import guard, quantity

KEYED = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "imagePullSecrets": "name",
    "tolerations": "key",
    "ports": "name",
}


def leaves(job: dict[str, Any]) -> dict[str, str]:
    """JSON pointer to value, as JSON, of every leaf; keyed items stand under their key."""
    return dict(_walk(_normal(job), ""))


def _walk(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _walk(inner, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
    else:
        yield pointer, json.dumps(value, sort_keys=True, ensure_ascii=False)


def _normal(job: dict[str, Any]) -> dict[str, Any]:
    spec = dict(job["spec"])
    # training-operator, pkg/apis/kubeflow.org/v1/pytorch_defaults.go
    spec.setdefault("nprocPerNode", "auto")
    roles = {}
    for role, replica in spec["pytorchReplicaSpecs"].items():
        template = replica["template"]
        roles[role] = {
            "replicas": replica.get("replicas", 1),
            "restartPolicy": replica.get("restartPolicy", "OnFailure"),
            "template": {**template, "spec": _pod(template["spec"])},
        }
    return {**job, "spec": {**spec, "pytorchReplicaSpecs": roles}}


def _pod(pod: dict[str, Any]) -> dict[str, Any]:
    volumes = {
        volume["name"]: {key: value for key, value in volume.items() if key != "name"}
        for volume in pod.get("volumes", ())
    }
    normal = {key: value for key, value in pod.items() if key != "volumes"}
    normal.setdefault("terminationGracePeriodSeconds", 30)
    for group in ("containers", "initContainers"):
        if group in normal:
            normal[group] = [_container(container, volumes) for container in normal[group]]
    return _keyed(normal)


def _container(container: dict[str, Any], volumes: dict[str, Any]) -> dict[str, Any]:
    normal = dict(container)
    latest = container["image"].rpartition("/")[2].endswith(":latest")
    # k8s.io/kubernetes, pkg/apis/core/v1/defaults.go: the pull policy follows from the tag, and
    # requests from limits.
    normal.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
    resources = {
        kind: {name: _number(amount) for name, amount in amounts.items() if amount is not None}
        for kind, amounts in container.get("resources", {}).items()
    }
    for name, amount in resources.get("limits", {}).items():
        resources.setdefault("requests", {}).setdefault(name, amount)
    if resources:
        normal["resources"] = resources
    if "command" in normal:
        normal["command"] = guard.inner(normal["command"])
        # Only without a command do the arguments stand for themselves: the image's entry gets them.
        normal["command"] = [*normal["command"], *map(str, normal.pop("args", ()))]
    if normal["name"] == "pytorch":
        # The operator adds this port where it is missing (pytorch_defaults.go).
        ports = normal.get("ports", [])
        if all(port.get("name") != "pytorchjob-port" for port in ports):
            port = {"name": "pytorchjob-port", "containerPort": 23456, "protocol": "TCP"}
            normal["ports"] = [*ports, port]
    if "volumeMounts" in normal:
        normal["volumeMounts"] = [
            {key: value for key, value in mount.items() if key != "name"} | volumes[mount["name"]]
            for mount in normal["volumeMounts"]
        ]
    return normal


def _number(amount: object) -> str:
    parsed = quantity.parse(str(amount))
    assert parsed is not None, amount
    return str(parsed.value)


def _keyed(value: Any, field: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _keyed(inner, key) for key, inner in value.items()}
    if isinstance(value, list) and field in KEYED:
        name = KEYED[field]
        return {
            str(item[name]): {key: _keyed(inner, key) for key, inner in item.items() if key != name}
            for item in value
        }
    return value
