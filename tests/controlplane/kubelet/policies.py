"""What becomes of containers that end, and of their pod: Kubernetes' pod lifecycle.

Kubernetes documentation, concepts/workloads/pods/pod-lifecycle and sidecar-containers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

Object = dict[str, Any]
Kind = Literal["init", "sidecar", "main"]
# Of one reason a container may not start, by the runtime; the code is containerd's.
NOT_STARTED = 128
SHOWN = 2048


@dataclass(frozen=True)
class Ended:
    """How one start of a container ended; `code` is 128 and more for one that was killed."""

    code: int
    started: datetime
    finished: datetime
    reason: str = ""
    message: str = ""

    @property
    def state(self) -> Object:
        """The terminated state of a container's status."""
        said = {"message": self.message} if self.message else {}
        return {
            "exitCode": self.code,
            "reason": self.reason or ("Error" if self.code else "Completed"),
            "startedAt": stamp(self.started),
            "finishedAt": stamp(self.finished),
            **said,
        }


@dataclass
class Container:
    """A container of a pod and what is known of it."""

    spec: Object
    kind: Kind
    running: datetime | None = None
    ended: Ended | None = None
    # How the start before the present one ended.
    before: Ended | None = None
    restarts: int = 0
    waiting: str = "PodInitializing"
    why: str = ""
    runs: list[Any] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its name in the pod."""
        return self.spec["name"]


def containers(pod: Object) -> list[Container]:
    """The containers of a pod in the order in which they start."""
    spec = pod["spec"]
    first = [
        Container(one, "sidecar" if one.get("restartPolicy") == "Always" else "init")
        for one in spec.get("initContainers") or []
    ]
    return [*first, *(Container(one, "main") for one in spec["containers"])]


def starts_again(policy: str, container: Container) -> bool:
    """Whether a container that has ended is started again in its pod."""
    assert container.ended is not None
    failed = container.ended.code != 0
    if container.kind == "sidecar":
        return True
    if container.kind == "init":
        return failed and policy != "Never"
    return policy == "Always" or (policy == "OnFailure" and failed)


def phase(policy: str, known: Sequence[Container]) -> str:
    """The phase of a bound pod, as its containers are at present."""
    inits = [one for one in known if one.kind == "init"]
    mains = [one for one in known if one.kind == "main"]
    if any(one.ended and one.ended.code and not starts_again(policy, one) for one in inits):
        return "Failed"
    over = [one for one in mains if one.ended and not starts_again(policy, one)]
    if len(over) == len(mains):
        return "Failed" if any(one.ended and one.ended.code for one in over) else "Succeeded"
    if any(one.running or one.ended or one.before for one in mains):
        return "Running"
    return "Pending"


def stamp(moment: datetime) -> str:
    """A moment as the API writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
