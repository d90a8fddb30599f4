"""The devices that containers get once `pod:` is merged into the template of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compiler import quantity
from compiler.diagnostics import Place
from compiler.model import Member, Route, Run
from compiler.nodes import Mapping
from compiler.passthrough import CONTAINER, Object, fragments, items, mapped, over, places
from compiler.podtemplate import template
from compiler.site import Site


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much of one resource a container requests and is limited to, and where `pod:` says so.

    `counted` tells a resource that the job's own `accelerators` set in the training container.
    """

    member: Member
    container: str
    name: str
    request: str | None
    limit: str | None
    counted: bool
    route: Route
    related: tuple[tuple[Route | Place, str], ...]

    @property
    def equal(self) -> bool:
        """Whether Kubernetes takes the two; a limit alone is its own request."""
        if self.limit is None or self.request is None:
            return self.request is None
        request, limit = quantity.parse(self.request), quantity.parse(self.limit)
        if request is None or limit is None:
            return self.request == self.limit
        return request.value == limit.value


def device(name: str) -> bool:
    """Whether a resource is counted out whole, so that request and limit must be the same.

    These are extended resources and huge pages (k8s.io/kubernetes pkg/apis/core/v1/helper,
    IsOvercommitAllowed).
    """
    return name.startswith("hugepages-") or ("/" in name and "kubernetes.io/" not in name)


def asked(run: Run, site: Site) -> Iterator[Amounts]:
    """Each device resource that `pod:` names for a container, with the amounts after the merge."""
    for member, at, pod in fragments(run):
        if not any(device(name) for name in _names(pod)):
            continue
        below = template(run, member, site, restart_policy=None, ports=[])
        spec = mapped(over(pod, below).get("spec"))
        for field in ("containers", "initContainers"):
            for route, container in places(pod.get("spec"), field, (*at, "spec")):
                merged = [i for i in items(spec, field) if i.get("name") == container.get("name")]
                if merged:
                    yield from _amounts(run, member, container, merged[0], route)


def _names(pod: Mapping) -> Iterator[str]:
    for field in ("containers", "initContainers"):
        for _, container in places(pod.get("spec"), field, ()):
            resources = mapped(container.get("resources"))
            for part in ("requests", "limits"):
                yield from mapped(resources.get(part))


def _amounts(
    run: Run, member: Member, container: Mapping, merged: Object, at: Route
) -> Iterator[Amounts]:
    said = mapped(container.get("resources"))
    limits, requests = mapped(said.get("limits")), mapped(said.get("requests"))
    result = mapped(merged.get("resources"))
    for name in {**limits, **requests}:
        if not device(name):
            continue
        devices = member.devices
        counted = (
            merged.get("name") == CONTAINER and devices is not None and devices.resource == name
        )
        part, other = ("limits", "requests") if name in limits else ("requests", "limits")
        related: tuple[tuple[Route | Place, str], ...] = ()
        if name in limits and name in requests:
            related = (((*at, "resources", other, name), "the other number"),)
        elif counted:
            related = ((run.routes(member, "accelerators"), "what the job asks for"),)
        request, limit = (
            mapped(result.get("requests")).get(name),
            mapped(result.get("limits")).get(name),
        )
        yield Amounts(
            member=member,
            container=str(merged.get("name")),
            name=str(name),
            request=None if request is None else str(request),
            limit=None if limit is None else str(limit),
            counted=counted,
            route=(*at, "resources", part, str(name)),
            related=related,
        )
