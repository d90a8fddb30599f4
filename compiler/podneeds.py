"""What the API server refuses of a pod's fields together, and the walk that finds all it refuses.

As `podlimits`, this follows k8s.io/kubernetes, pkg/apis/core/validation/validation.go. A field
that a fragment leaves out may be in the template or the base below it, so that what is missing is
looked for there too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from compiler import podscheduling, podsources
from compiler.model import Route
from compiler.nodes import Mapping, Node, Scalar, Sequence
from compiler.passthrough import Object, inside, items, listed, mapped, resolved, schema, standing
from compiler.podlimits import FILE_FIELDS, POD_FIELDS, Limit, Mistake, Need, field_of, resource
from compiler.podvalues import MAPS, VALUES
from compiler.rules import Report
from compiler.suggestions import nearest

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")


def refusals(pod: Node, data: Any, below: tuple[Object, ...]) -> Iterator[Report]:
    """What is refused in a fragment, each at its route within it.

    `data` is the fragment as plain data, `below` the templates that it is merged over. Fields of
    another type than the schema's are stepped over: they have their own finding.
    """
    yield from _walk(pod, resolved(schema()), (), data, below)
    yield from _unknown_names(pod, data, below)
    yield from _of_containers(data, below)


def _walk(
    node: Node, part: Object | None, route: Route, data: Any, below: tuple[Object, ...]
) -> Iterator[Report]:
    if isinstance(node, Sequence):
        for index, item in enumerate(node):
            yield from _walk(item, inside(part, 0), (*route, index), data, below)
        return
    if not isinstance(node, Mapping) or part is None:
        return
    owner = str(part.get("title", ""))
    for name, value in node.items():
        at = (*route, str(name))
        limit = _limit(owner, str(name), route)
        if limit is not None:
            for where, scalar in _scalars(value, at):
                told = limit(str(scalar))
                if told is not None:
                    yield Report(where, *told)
        yield from _entries(owner, str(name), value, at)
        yield from _walk(value, inside(part, str(name)), at, data, below)
    need = _NEEDS.get(owner)
    if need is not None:
        known: Object = {}
        for layer in below:
            known = {**mapped(standing(layer, data, route)), **known}
        for step, key, message, remedy in need(node, {**known, **node}, route):
            if key and not step:
                step = str(next(iter(node), ""))
            steps = step if isinstance(step, tuple) else (step,) if step else ()
            yield Report((*route, *steps), message, remedy, key=key and bool(steps))


def _limit(owner: str, name: str, route: Route) -> Limit | None:
    if (owner, name) == ("ObjectFieldSelector", "fieldPath"):
        return field_of(POD_FIELDS if "valueFrom" in route else FILE_FIELDS)
    return VALUES.get((owner, name))


def _scalars(value: Node, at: Route) -> Iterator[tuple[Route, Scalar]]:
    if isinstance(value, Scalar):
        if not value.empty:
            yield at, value
    elif isinstance(value, Sequence):
        for index, item in enumerate(value):
            if isinstance(item, Scalar) and not item.empty:
                yield (*at, index), item


def _entries(owner: str, name: str, value: Node, at: Route) -> Iterator[Report]:
    limits = MAPS.get((owner, name))
    if limits is None or not isinstance(value, Mapping):
        return
    for key, entry in value.items():
        told = limits[0](str(key))
        if told is not None:
            yield Report((*at, str(key)), *told, key=True)
        elif limits[1] is not None and isinstance(entry, Scalar) and not entry.empty:
            told = limits[1](str(entry))
            if told is not None:
                yield Report((*at, str(key)), *told)


def _unknown_names(pod: Node, data: Any, below: tuple[Object, ...]) -> Iterator[Report]:
    """Mounts of volumes, and uses of claims, that neither the fragment nor what is below it has."""
    specs = [mapped(mapped(layer).get("spec")) for layer in (data, *below)]
    for list_name, fields in (
        ("volumes", (("volumeMounts",), ("volumeDevices",))),
        ("resourceClaims", (("resources", "claims"),)),
    ):
        known = {str(item.get("name")) for spec in specs for item in items(spec, list_name)}
        for kind in ("initContainers", "containers"):
            for index, container in enumerate(listed(specs[0].get(kind))):
                for field in fields:
                    used = mapped(container)
                    for step in field[:-1]:
                        used = mapped(used.get(step))
                    for number, use in enumerate(listed(used.get(field[-1]))):
                        name = mapped(use).get("name")
                        if isinstance(name, str) and name not in known:
                            near = nearest(name, known)
                            what = "volume" if list_name == "volumes" else "resource claim"
                            yield Report(
                                ("spec", kind, index, *field, number, "name"),
                                f"the pod has no {what} `{name}`",
                                f"write `{near}`" if near else f"add it to spec.{list_name}",
                            )


def _of_containers(data: Any, below: tuple[Object, ...]) -> Iterator[Report]:
    """What containers say that depends on fields of the pod."""
    spec: Object = {}
    for layer in (*reversed(below), data):
        spec |= mapped(mapped(layer).get("spec"))
    grace = spec.get("terminationGracePeriodSeconds")
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(listed(mapped(mapped(data).get("spec")).get(kind))):
            at = ("spec", kind, index)
            for hook in ("postStart", "preStop"):
                handler = mapped(mapped(mapped(container).get("lifecycle")).get(hook))
                seconds = mapped(handler.get("sleep")).get("seconds")
                if isinstance(seconds, int) and isinstance(grace, int) and seconds > grace:
                    yield Report(
                        (*at, "lifecycle", hook, "sleep", "seconds"),
                        f"a hook of {seconds} s is longer than the grace of {grace} s",
                        f"write {grace} or less, or stop: {{grace: {seconds}s}} at the top of the "
                        "job",
                    )
            security = mapped(mapped(container).get("securityContext"))
            if security.get("procMount") == "Unmasked" and spec.get("hostUsers") is not False:
                yield Report(
                    (*at, "securityContext", "procMount"),
                    "`procMount: Unmasked` needs `hostUsers: false`: users of the pod's own",
                    "take it out, or add hostUsers: false to the pod's spec",
                )


def _pod(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    if node.get("dnsPolicy") == "None" and not mapped(whole.get("dnsConfig")).get("nameservers"):
        message = "`dnsPolicy: None` needs the servers to ask"
        yield "dnsPolicy", False, message, "add dnsConfig: {nameservers: [...]}"
    if _true(whole, "shareProcessNamespace") and _true(whole, "hostPID"):
        step = "shareProcessNamespace" if "shareProcessNamespace" in node else "hostPID"
        yield step, True, "`shareProcessNamespace` and `hostPID` exclude each other", "take it out"
    if "ephemeralContainers" in node:
        message = "ephemeral containers are added to running pods only"
        yield "ephemeralContainers", True, message, "take it out: `kubectl debug` adds them"
    yield from _whole_pod(node, whole)


def _whole_pod(node: Mapping, whole: Object) -> Iterator[Mistake]:
    if str(mapped(node.get("os")).get("name", "")) == "windows":
        message = "a run has Linux pods, with fields that a Windows pod may not have"
        yield "os", True, message, "take it out"
    if str(whole.get("hostUsers", "")).lower() == "false":
        for name in ("hostNetwork", "hostPID", "hostIPC"):
            if _true(whole, name):
                step = "hostUsers" if "hostUsers" in node else name
                message = f"`hostUsers: false` and `{name}` exclude each other"
                yield step, True, message, "take it out"
                break
    for kind in ("requests", "limits"):
        for name in mapped(mapped(node.get("resources")).get(kind)):
            shared = name in ("cpu", "memory") or name.startswith("hugepages-")
            if not shared and resource(name) is None:
                message = f"`{name}` is not given to a pod as a whole"
                remedy = "write it in the resources of the container"
                yield ("resources", kind, name), True, message, remedy


def _dns(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    servers = listed(node.get("nameservers"))
    searches = [str(name) for name in listed(node.get("searches"))]
    if len(servers) > 3:
        message = f"{len(servers)} name servers; 3 are possible"
        yield ("nameservers", 3), False, message, "keep three"
    if len(searches) > 32:
        message = f"{len(searches)} domains to search; 32 are possible"
        yield ("searches", 32), False, message, "keep 32"
    elif (length := len(" ".join(searches))) > 2048:
        message = f"the domains to search have {length} characters; 2048 are possible"
        yield "searches", True, message, "keep those that are needed"


def _dns_option(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    if "name" not in node:
        yield "", bool(node), "an option of the resolver needs its name", "add name: <option>"


def _settings(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    taken: set[str] = set()
    for index, setting in enumerate(listed(node.get("sysctls"))):
        name = str(mapped(setting).get("name"))
        if name in taken:
            yield ("sysctls", index, "name"), False, f"`{name}` is set twice", "keep one of the two"
        taken.add(name)


def _program(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    if not listed(whole.get("command")):
        step = "command" if "command" in node else ""
        message = "nothing says which program is started"
        yield step, not step and bool(node), message, "add command: [<program>]"


def _container(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    if "initContainers" not in route or str(whole.get("restartPolicy", "")) == "Always":
        return
    for step in (*_PROBES, "lifecycle"):
        if step in node:
            message = f"an init container that ends by itself has no `{step}`"
            yield step, True, message, "take it out, or add restartPolicy: Always for a sidecar"


def _probe(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    yield from _handler(node, whole, route)
    kind = route[-1]
    successes = node.get("successThreshold")
    if kind != "readinessProbe" and re.fullmatch("[2-9]|[1-9][0-9]+", str(successes)):
        message = f"a `{kind}` succeeds at once: its successThreshold can only be 1"
        yield "successThreshold", False, message, "write 1, or take it out"
    if kind == "readinessProbe" and "terminationGracePeriodSeconds" in node:
        message = "a readiness probe ends no pod"
        yield "terminationGracePeriodSeconds", True, message, "take it out"


def _handler(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    if not any(name in whole for name in _HANDLERS):
        kind = route[-1]
        known = _HANDLERS[:4] if kind in _PROBES else ("exec", "httpGet", "sleep")
        message = f"`{kind}` says nothing to do"
        yield "", bool(node), message, f"add one of: {', '.join(known)}, or take `{kind}` out"


def _profile(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    local, path = str(whole.get("type", "")) == "Localhost", "localhostProfile"
    if local and not whole.get(path):
        message = "`type: Localhost` needs the profile's name"
        yield "type" if "type" in node else "", False, message, f"add {path}: <name>"
    elif not local and path in node and "type" in whole:
        message = f"`{path}` is for `type: Localhost` only"
        yield path, True, message, "take it out, or write type: Localhost"


def _context(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    name = "allowPrivilegeEscalation"
    if str(whole.get(name, "")).lower() != "false":
        return
    added = listed(mapped(whole.get("capabilities")).get("add"))
    if any(str(one) == "CAP_SYS_ADMIN" for one in added) and name in node:
        yield name, True, f"`{name}: false` and CAP_SYS_ADMIN exclude each other", "take it out"


def _mount(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    if node.get("subPath") and node.get("subPathExpr"):
        message = "`subPathExpr` and `subPath` exclude each other"
        yield "subPathExpr", True, message, "keep one of the two"
    recursive = str(node.get("recursiveReadOnly", "Disabled"))
    if recursive != "Disabled" and not _true(whole, "readOnly"):
        message = "`recursiveReadOnly` needs `readOnly: true`"
        yield "recursiveReadOnly", True, message, "add readOnly: true"
    spread = str(whole.get("mountPropagation", "None"))
    if spread == "Bidirectional" and "mountPropagation" in node:
        message = "`mountPropagation: Bidirectional` is for privileged containers"
        yield "mountPropagation", False, message, "write HostToContainer, or take it out"
    elif recursive != "Disabled" and spread != "None":
        message = "`recursiveReadOnly` and `mountPropagation` exclude each other"
        step = "mountPropagation" if "mountPropagation" in node else "recursiveReadOnly"
        yield step, True, message, "take it out"


def _true(value: Object, name: str) -> bool:
    return str(value.get(name, "")).lower() == "true"


_NEEDS: dict[str, Need] = {
    "PodSpec": _pod,
    "PodDNSConfig": _dns,
    "PodDNSConfigOption": _dns_option,
    "PodSecurityContext": _settings,
    "Container": _container,
    "Probe": _probe,
    "LifecycleHandler": _handler,
    "ExecAction": _program,
    "SeccompProfile": _profile,
    "AppArmorProfile": _profile,
    "SecurityContext": _context,
    "VolumeMount": _mount,
    **podscheduling.NEEDS,
    **podsources.NEEDS,
}
