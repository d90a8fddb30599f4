"""The status of a pod as a kubelet reports it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from controlplane.kubelet.policies import Container, phase, stamp, starts_again

Object = dict[str, Any]
HOST = "10.77.0.1"


def status(
    pod: Object,
    known: Sequence[Container],
    since: datetime,
    address: str,
    final: tuple[str, str, str] | None = None,
) -> Object:
    """The whole status. `final` is a phase with its reason and message that the kubelet decided."""
    policy = pod["spec"].get("restartPolicy", "Always")
    now, reason, message = final or (phase(policy, known), "", "")
    mains = [one for one in known if one.kind == "main"]
    begun = all(
        one.ended is not None and one.ended.code == 0
        if one.kind == "init"
        else one.running is not None or one.ended is not None
        for one in known
        if one.kind != "main"
    )
    ready = begun and all(one.running is not None for one in mains) and final is None
    why = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(now, "ContainersNotReady")
    conditions = [
        _condition("PodScheduled", True, since),
        _condition("Initialized", begun or now == "Succeeded", since, "ContainersNotInitialized"),
        _condition("ContainersReady", ready, since, why),
        _condition("Ready", ready, since, why),
    ]
    if reason == "Evicted":
        conditions.append(
            {**_condition("DisruptionTarget", True, since), "reason": "TerminationByKubelet"}
        )
    made: Object = {
        "phase": now,
        "conditions": conditions,
        "hostIP": HOST,
        "hostIPs": [{"ip": HOST}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": stamp(since),
        "containerStatuses": [_container(one, now, policy) for one in mains],
    }
    if len(mains) < len(known):
        made["initContainerStatuses"] = [
            _container(one, now, policy) for one in known if one.kind != "main"
        ]
    if reason:
        made |= {"reason": reason, "message": message}
    return made


def _condition(kind: str, met: bool, since: datetime, why: str = "") -> Object:
    made = {"type": kind, "status": str(met), "lastTransitionTime": stamp(since)}
    return made if met or not why else {**made, "reason": why}


def _container(one: Container, now: str, policy: str) -> Object:
    last = one.before
    if one.running is not None:
        state: Object = {"running": {"startedAt": stamp(one.running)}}
    elif one.ended is not None and now in ("Pending", "Running") and starts_again(policy, one):
        state = {"waiting": {"reason": "CrashLoopBackOff"}}
        last = one.ended
    elif one.ended is not None:
        state = {"terminated": one.ended.state}
    else:
        state = {"waiting": {"reason": one.waiting, **({"message": one.why} if one.why else {})}}
    done = one.kind == "init" and one.ended is not None and one.ended.code == 0
    return {
        "name": one.name,
        "image": one.spec.get("image", ""),
        "imageID": one.spec.get("image", "") if one.running or one.ended else "",
        "ready": done or (one.running is not None and now == "Running"),
        "started": one.running is not None,
        "restartCount": one.restarts,
        "state": state,
        "lastState": {"terminated": last.state} if last else {},
    }
