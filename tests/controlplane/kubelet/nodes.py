"""Nodes that exist on paper: one for each place that a pod asks for.

A pod's `nodeSelector` and required node affinity decide which node it gets, and a node that has
what they ask for is made where there is none. Whether there is room is Kueue's business: a node
takes any number of pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controlplane.kubelet.status import HOST

Object = dict[str, Any]
# As much of everything as no test asks for.
PLENTY = {"cpu": "4096", "memory": "64Ti", "ephemeral-storage": "512Ti", "pods": "10000"}
ACCELERATORS = {"nvidia.com/gpu": "4096", "amd.com/gpu": "4096"}


def node(name: str, labels: Mapping[str, str], more: Mapping[str, str]) -> Object:
    """A ready node with accelerators, and plenty of the further resources of `more`."""
    sizes = {**PLENTY, **ACCELERATORS, **more}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {
            "capacity": sizes,
            "allocatable": sizes,
            "addresses": [{"type": "InternalIP", "address": HOST}],
            "conditions": [
                {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}
            ],
        },
    }


def wanted(pod: Object) -> dict[str, str] | None:
    """The labels of a node that takes the pod; None where this kubelet knows of none.

    Of several terms of an affinity, and several values of one label, the first serves.
    """
    spec = pod["spec"]
    labels: dict[str, str] = dict(spec.get("nodeSelector") or {})
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in (required.get("nodeSelectorTerms") or [])[:1]:
        for asked in term.get("matchExpressions") or []:
            key, values = asked["key"], asked.get("values") or [""]
            if asked["operator"] == "In":
                if labels.setdefault(key, values[0]) not in values:
                    return None
            elif asked["operator"] == "Exists":
                labels.setdefault(key, "")
            elif asked["operator"] == "NotIn":
                if labels.get(key) in values:
                    return None
            elif asked["operator"] != "DoesNotExist" or key in labels:
                return None
    return labels


def resources(pod: Object) -> dict[str, str]:
    """Plenty of every resource that the pod's containers name, beyond those of every node."""
    named: dict[str, str] = {}
    for container in [*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or [])]:
        for sizes in (container.get("resources") or {}).values():
            if isinstance(sizes, dict):
                named |= {name: "4096" for name in sizes if "/" in name}
    return named


def gated(pod: Object) -> bool:
    """Whether somebody keeps the pod from being scheduled."""
    return bool(pod["spec"].get("schedulingGates"))
