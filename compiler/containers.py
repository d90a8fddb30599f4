"""The containers of a run's pods as rules ask about them: each value with its route.

What a declaration says in its own fields and what `pod:` adds or changes are one container here,
so that no rule holds for the one and not for the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, Generic, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from compiler.model import Bounds, Companion, Image, Member, Route, Run, Variable, for_the_run
from compiler.nodes import Mapping, Scalar, Sequence
from compiler.quantity import Quantity, parse

T = TypeVar("T")
MAIN = "pytorch"
# Kubernetes' own resources of a container, and the fields of a declaration that say them.
OWN_FIELDS = {"cpu": "cpu", "memory": "memory", "ephemeral-storage": "ephemeral_storage"}


class At(Struct, Generic[T], frozen=True):
    """A value, and the route in the declaration that it comes from."""

    value: T
    route: Route


class Container(Struct):
    """A container; `route` is where it is declared (that of the whole member for the main one)."""

    name: str
    init: bool
    route: Route
    image: At[Image] | None = None
    requests: dict[str, At[Quantity]] = field(default_factory=dict)  # type: ignore[assignment]
    limits: dict[str, At[Quantity]] = field(default_factory=dict)  # type: ignore[assignment]
    ports: list[At[tuple[str, int]]] = field(default_factory=list)  # type: ignore[assignment]
    env: dict[str, At[str]] = field(default_factory=dict)  # type: ignore[assignment]


@for_the_run
def containers(run: Run, member: Member) -> list[Container]:
    """The containers of the pods of a member: the training container first, then the others."""
    found = [_main(run, member)]
    groups = (("sidecars", member.sidecars, False), ("init", member.init, True))
    for kind, companions, init in groups:
        for index, companion in enumerate(companions):
            found.append(_companion(run, companion, run.routes(member, kind, index), init))
    for kind, init in (("containers", False), ("initContainers", True)):
        for route, node in passed(run, member, "spec", kind):
            _take(found, route, node, init)
    return found


def passed(run: Run, member: Member, *path: str) -> Iterator[tuple[Route, Mapping]]:
    """The mappings of a list of the member's `pod:`, each with its route."""
    node: Any = member.pod
    for step in path:
        node = node.get(step) if isinstance(node, dict) else None  # type: ignore[misc]
    if isinstance(node, Sequence):
        for index, item in enumerate(node):
            if isinstance(item, Mapping):
                yield run.routes(member, "pod", *path, index), item


def counted_whole(resource: str) -> bool:
    """Whether a resource is a device or a huge page: nobody shares one, so request is limit.

    As k8s.io/kubernetes pkg/apis/core/v1/helper has it (IsOvercommitAllowed): everything but
    Kubernetes' own resources, and huge pages.
    """
    own = "/" not in resource or "kubernetes.io/" in resource
    return not own or resource.startswith("hugepages-")


def is_device(name: str) -> bool:
    """Whether a container can have a resource of this name beside cores, memory and disk.

    A device has a prefix; without one there are huge pages only (k8s.io/kubernetes
    pkg/apis/core/validation, validateContainerResourceName).
    """
    if "/" not in name:
        return name.startswith("hugepages-")
    return not name.startswith("requests.")


def asked(parts: Iterable[Container], resource: str) -> Fraction:
    """What the scheduler reserves for a pod: all containers together, or one init container.

    Init containers run one after another, before the others
    (k8s.io/kubernetes, pkg/api/v1/resource/helpers.go).
    """
    together = Fraction(0)
    before = Fraction(0)
    for part in parts:
        request = part.requests.get(resource)
        amount = request.value.value if request is not None else Fraction(0)
        if part.init:
            before = max(before, amount)
        else:
            together += amount
    return max(together, before)


def _main(run: Run, member: Member) -> Container:
    def at(*route: str | int) -> Route:
        return run.routes(member, *route)

    made = Container(MAIN, False, at(), At(member.image, at("image")))
    for name, bounds in (("cpu", member.cpu), ("memory", member.memory)):
        _bound(made, run, name, bounds, at(name))
    fixed: list[tuple[str, Quantity, Route]] = []
    if member.storage is not None:
        fixed.append(("ephemeral-storage", member.storage, at("ephemeral_storage")))
    if member.devices is not None:
        fixed.append((member.devices.resource, _count(member.devices.count), at("accelerators")))
    fixed += [(name, _count(n), at("resources", name)) for name, n in member.resources]
    for name, amount, route in fixed:
        made.requests[name] = made.limits[name] = At(amount, route)
    made.ports = [At((name, port), at("ports", name)) for name, port in member.ports]
    made.env = _texts(member.env, at("env"))
    return made


def _companion(run: Run, companion: Companion, route: Route, init: bool) -> Container:
    made = Container(companion.name, init, route, At(companion.image, (*route, "image")))
    for name, bounds in (("cpu", companion.cpu), ("memory", companion.memory)):
        _bound(made, run, name, bounds, (*route, name))
    made.ports = [At((name, port), (*route, "ports", name)) for name, port in companion.ports]
    made.env = _texts(companion.env, (*route, "env"))
    return made


def _texts(variables: Iterable[Variable], route: Route) -> dict[str, At[str]]:
    return {v.name: At(v.value, (*route, v.name)) for v in variables if v.value is not None}


def _count(number: int) -> Quantity:
    return Quantity(str(number), Fraction(number))


def _bound(made: Container, run: Run, name: str, bounds: Bounds | None, route: Route) -> None:
    if bounds is None:
        return
    both = isinstance(run.origins.node(route), Mapping)
    made.requests[name] = At(bounds.request, (*route, "request") if both else route)
    made.limits[name] = At(bounds.limit, (*route, "limit") if both else route)


def _take(found: list[Container], route: Route, node: Mapping, init: bool) -> None:
    """Put a container of `pod:` among the others, over the one of the same name if there is one."""
    name = str(node.get("name", ""))
    # An init container that is restarted is a sidecar: it runs beside the others.
    init = init and str(node.get("restartPolicy", "")) != "Always"
    made = next((c for c in found if c.name == name), None)
    if made is None:
        made = Container(name, init, route)
        found.append(made)
    image = node.get("image")
    if isinstance(image, Scalar) and not image.empty:
        made.image = At(image_of(str(image)), (*route, "image"))
    resources = node.get("resources")
    if isinstance(resources, Mapping):
        for kind, into in (("requests", made.requests), ("limits", made.limits)):
            amounts = resources.get(kind)
            for key, text in amounts.items() if isinstance(amounts, Mapping) else ():
                amount = parse(str(text)) if isinstance(text, Scalar) else None
                # Thousandths of a byte are a mistake of their own, and nothing to compare with.
                bytewise = key != "cpu" and "/" not in key
                if amount is not None and not (bytewise and amount.text.endswith("m")):
                    into[str(key)] = At(amount, (*route, "resources", kind, str(key)))
        for key, limit in made.limits.items():
            # The API server takes a limit for the request where there is none (core/v1 defaults).
            made.requests.setdefault(key, limit)
    _take_ports(made, route, node.get("ports"))
    env = node.get("env")
    for index, item in enumerate(env) if isinstance(env, Sequence) else ():
        if isinstance(item, Mapping) and isinstance(item.get("value"), Scalar):
            where = (*route, "env", index, "value")
            made.env[str(item.get("name", ""))] = At(str(item["value"]), where)


def _take_ports(made: Container, route: Route, ports: Any) -> None:
    for index, item in enumerate(ports) if isinstance(ports, Sequence) else ():
        number = item.get("containerPort") if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping) or not isinstance(number, Scalar):
            continue
        if not (number.isascii() and number.isdigit() and len(number) < 6):
            continue
        if str(item.get("protocol", "TCP")) != "TCP":
            continue
        name = str(item.get("name", ""))
        where = (*route, "ports", index, "name" if name else "containerPort")
        entry = At((name, int(number)), where)
        # The same number is the same entry (the list's merge key), with what is added to it.
        for place, known in enumerate(made.ports):
            if known.value[1] == int(number):
                made.ports[place] = entry if name else replace(entry, value=known.value)
                break
        else:
            made.ports.append(entry)


def image_of(reference: str) -> Image:
    """A full reference as an image."""
    repository, _, digest = reference.partition("@")
    head, colon, tag = repository.rpartition(":")
    if colon and "/" not in tag:
        repository = head
    return Image(reference, None, digest or None, repository)
