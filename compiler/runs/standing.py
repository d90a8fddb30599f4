"""How a training object stands: read from its conditions, its Kueue Workload and its pods.

A condition counts only while its status is True: `kubectl get` shows the type of the last one,
whatever its status (training-operator, pkg/apis/kubeflow.org/v1/common_types.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any, cast

from msgspec import Struct

from compiler.diagnostics import CompilerError
from compiler.runs.observations import Seen

Object = Mapping[str, Any]
TRAINING = frozenset({("kubeflow.org", "PyTorchJob"), ("batch", "Job")})
WORKLOAD = ("kueue.x-k8s.io", "Workload")
POD = ("", "Pod")
# The container that trains; the operator insists on the name.
CONTAINER = "pytorch"
_SUCCEEDED = ("Succeeded", "Complete")
# Why Kueue itself gives a run up for good. A person's own `active: false` is a pause, not an end.
# (kueue, pkg/controller/core/workload_controller.go and apis/kueue: the cause follows "DueTo")
_GIVEN_UP = ("MaximumExecutionTimeExceeded", "RequeuingLimitExceeded")


class Standing(Struct, frozen=True):
    """What is known of one training object. `exit` is an exit code, `reason` the cluster's word."""

    outcome: Seen
    began: datetime | None
    ended: datetime | None
    exit: int | None
    reason: str


def standing(item: Object, workloads: Iterable[Object], pods: Iterable[Object]) -> Standing:
    """How a training object stands, with the Workloads and pods that belong to it."""
    status = part(item, "status")
    began = moment(status.get("startTime"))
    exits = sorted(exit_ for pod in pods for exit_ in _exits(pod))
    for condition in reversed(list(conditions(item))):
        kind, reason = word(condition, "type"), word(condition, "reason")
        if kind not in (*_SUCCEEDED, "Failed"):
            continue
        ended = moment(status.get("completionTime")) or moment(condition.get("lastTransitionTime"))
        if kind == "Failed":
            return Standing("failed", began, ended, *_first_failure(exits, reason))
        return Standing("succeeded", began, ended, 0 if exits else None, "")
    if suspended(item):
        for workload in workloads:
            given_up = _given_up(workload)
            if given_up is not None:
                reason, ended = given_up
                return Standing("failed", began, ended, None, reason)
    return Standing("running", began, None, None, "")


def conditions(item: Object) -> Iterable[Object]:
    """The conditions of an object that hold."""
    return (one for one in parts(part(item, "status"), "conditions") if one.get("status") == "True")


def suspended(item: Object) -> bool:
    """Whether an object has given its pods up, or waits for its first ones."""
    spec = part(item, "spec")
    return part(spec, "runPolicy").get("suspend") is True or spec.get("suspend") is True


def kind_of(item: Object) -> tuple[str, str]:
    """The API group and kind of an object."""
    return word(item, "apiVersion").rpartition("/")[0], word(item, "kind")


def owner_of(item: Object) -> tuple[str, str, str] | None:
    """Namespace, kind and name of the training object that a Workload or a pod belongs to."""
    metadata = part(item, "metadata")
    for owner in parts(metadata, "ownerReferences"):
        kind = word(owner, "kind")
        if owner.get("controller") is True and kind in {kind for _, kind in TRAINING}:
            return word(metadata, "namespace"), kind, word(owner, "name")
    return None


def _given_up(workload: Object) -> tuple[str, datetime | None] | None:
    """Why Kueue has given a workload up, and when; None where it has not."""
    for condition in conditions(workload):
        reason = word(condition, "reason")
        if word(condition, "type") in ("Evicted", "DeactivationTarget"):
            cause = next((word for word in _GIVEN_UP if reason.endswith(word)), None)
            if cause is not None and part(workload, "spec").get("active") is False:
                return cause, moment(condition.get("lastTransitionTime"))
    return None


def _first_failure(exits: list[tuple[str, int, str]], reason: str) -> tuple[int | None, str]:
    """The exit code and reason of the process that failed first: the others fail for want of it."""
    for _, code, why in exits:
        if code:
            return code, why if why and why != "Error" else reason
    return None, reason


def _exits(pod: Object) -> Iterable[tuple[str, int, str]]:
    """When the training container of a pod ended, with which code, and why."""
    for container in parts(part(pod, "status"), "containerStatuses"):
        ended = part(part(container, "state"), "terminated")
        code = ended.get("exitCode")
        if container.get("name") == CONTAINER and isinstance(code, int):
            yield word(ended, "finishedAt"), code, word(ended, "reason")


def devices(item: Object) -> int:
    """Accelerators over all pods of an object, nodes where it has none."""
    spec = part(item, "spec")
    roles = part(spec, "pytorchReplicaSpecs")
    found = pods = 0
    for role in [part(roles, name) for name in roles] or [spec]:
        replicas: object = role.get("replicas", role.get("parallelism"))
        count = replicas if isinstance(replicas, int) else 1
        pods += count
        for container in parts(part(part(role, "template"), "spec"), "containers"):
            limits = part(part(container, "resources"), "limits")
            for name, amount in limits.items():
                # An accelerator is an extended resource whose name says so; RDMA devices are not.
                if "/" in name and any(word in name for word in ("gpu", "mig-", "npu", "tpu")):
                    found += count * int(amount) if str(amount).isdecimal() else 0
    return found or pods


def hours(seconds: int, item: Object) -> Fraction:
    """The accelerator-hours of an object that has run for so long."""
    return Fraction(seconds * devices(item), 3600)


def part(item: Object, name: str) -> Object:
    """A mapping within an object, empty where there is none; raises CompilerError otherwise."""
    value: object = item.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise CompilerError(f"this is not what kubectl prints: `{name}` is no object")
    return cast("Object", value)


def word(item: Object, name: str) -> str:
    """A text within an object, empty where there is none; raises CompilerError otherwise."""
    value: object = item.get(name)
    if value is not None and not isinstance(value, str):
        raise CompilerError(f"this is not what kubectl prints: `{name}` is no text")
    return value or ""


def parts(item: Object, name: str) -> list[Object]:
    """The mappings of a list within an object; raises CompilerError for anything else."""
    value: object = item.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or any(
        not isinstance(one, dict) for one in cast("list[object]", value)
    ):
        raise CompilerError(f"this is not what kubectl prints: `{name}` is no list of objects")
    return cast("list[Object]", value)


def moment(value: object) -> datetime | None:
    """An RFC 3339 time; None where there is none."""
    try:
        found = datetime.fromisoformat(str(value)) if value else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None
