"""What the API server refuses of a pod's fields together, and the walk that finds all it refuses.

As `podlimits`, this follows k8s.io/kubernetes, pkg/apis/core/validation/validation.go. A field
that a fragment leaves out may be in the template or the base below it, so that what is missing is
looked for there too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from compiler.model import Route
from compiler.nodes import Mapping, Node, Scalar, Sequence
from compiler.passthrough import Object, inside, items, listed, mapped, resolved, schema, standing
from compiler.podlimits import FILE_FIELDS, MAPS, POD_FIELDS, VALUES, Limit, field_of
from compiler.rules import Report
from compiler.suggestions import nearest

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_ONE_OF: dict[str, tuple[str, ...]] = {
    "EnvVarSource": ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef"),
    "EnvFromSource": ("configMapRef", "secretRef"),
    "DownwardAPIVolumeFile": ("fieldRef", "resourceFieldRef"),
}
_NAMED = {
    "ConfigMapVolumeSource": "name",
    "ConfigMapProjection": "name",
    "ConfigMapKeySelector": "name",
    "ConfigMapEnvSource": "name",
    "SecretVolumeSource": "secretName",
    "SecretProjection": "name",
    "SecretKeySelector": "name",
    "SecretEnvSource": "name",
}
# The report's step below the mapping ("" for the mapping itself), whether the key is meant, what
# is wrong, and what to write.
Told = tuple[str, bool, str, str]
Need = Callable[[Mapping, Object, Route], Iterator[Told]]


def refusals(pod: Node, data: Any, below: tuple[Object, ...]) -> Iterator[Report]:
    """What is refused in a fragment, each at its route within it.

    `data` is the fragment as plain data, `below` the templates that it is merged over. Fields of
    another type than the schema's are stepped over: they have their own finding.
    """
    yield from _walk(pod, resolved(schema()), (), data, below)
    yield from _unknown_names(pod, data, below)


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
            yield Report((*route, step) if step else route, message, remedy, key=key and step != "")


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


def _pod(node: Mapping, whole: Object, route: Route) -> Iterator[Told]:
    if node.get("dnsPolicy") == "None" and not mapped(whole.get("dnsConfig")).get("nameservers"):
        message = "`dnsPolicy: None` needs the servers to ask"
        yield "dnsPolicy", False, message, "add dnsConfig: {nameservers: [...]}"
    if _true(whole, "shareProcessNamespace") and _true(whole, "hostPID"):
        step = "shareProcessNamespace" if "shareProcessNamespace" in node else "hostPID"
        yield step, True, "`shareProcessNamespace` and `hostPID` exclude each other", "take it out"
    if "ephemeralContainers" in node:
        message = "ephemeral containers are added to running pods only"
        yield "ephemeralContainers", True, message, "take it out: `kubectl debug` adds them"


def _container(node: Mapping, whole: Object, route: Route) -> Iterator[Told]:
    if "initContainers" not in route or str(whole.get("restartPolicy", "")) == "Always":
        return
    for step in (*_PROBES, "lifecycle"):
        if step in node:
            message = f"an init container that ends by itself has no `{step}`"
            yield step, True, message, "take it out, or add restartPolicy: Always for a sidecar"


def _probe(node: Mapping, whole: Object, route: Route) -> Iterator[Told]:
    yield from _handler(node, whole, route)
    kind = route[-1]
    successes = node.get("successThreshold")
    if kind != "readinessProbe" and re.fullmatch("[2-9]|[1-9][0-9]+", str(successes)):
        message = f"a `{kind}` succeeds at once: its successThreshold can only be 1"
        yield "successThreshold", False, message, "write 1, or take it out"
    if kind == "readinessProbe" and "terminationGracePeriodSeconds" in node:
        message = "a readiness probe ends no pod"
        yield "terminationGracePeriodSeconds", True, message, "take it out"


def _handler(node: Mapping, whole: Object, route: Route) -> Iterator[Told]:
    if not any(name in whole for name in _HANDLERS):
        kind = route[-1]
        known = _HANDLERS[:4] if kind in _PROBES else ("exec", "httpGet", "sleep")
        message = f"`{kind}` says nothing to do"
        yield "", bool(node), message, f"add one of: {', '.join(known)}, or take `{kind}` out"


def _profile(node: Mapping, whole: Object, route: Route) -> Iterator[Told]:
    local, path = str(whole.get("type", "")) == "Localhost", "localhostProfile"
    if local and not whole.get(path):
        message = "`type: Localhost` needs the profile's name"
        yield "type" if "type" in node else "", False, message, f"add {path}: <name>"
    elif not local and path in node and "type" in whole:
        message = f"`{path}` is for `type: Localhost` only"
        yield path, True, message, "take it out, or write type: Localhost"


def _context(node: Mapping, whole: Object, route: Route) -> Iterator[Told]:
    name = "allowPrivilegeEscalation"
    if str(whole.get(name, "")).lower() != "false":
        return
    added = listed(mapped(whole.get("capabilities")).get("add"))
    if any(str(one) == "CAP_SYS_ADMIN" for one in added) and name in node:
        yield name, True, f"`{name}: false` and CAP_SYS_ADMIN exclude each other", "take it out"


def _toleration(node: Mapping, whole: Object, route: Route) -> Iterator[Told]:
    operator = str(node.get("operator", "")) or "Equal"
    if operator == "Exists" and node.get("value"):
        message = "`operator: Exists` takes any value"
        yield "value", True, message, "take it out, or write operator: Equal"
    elif operator != "Exists" and not node.get("key"):
        message = "a toleration without a key is for all taints"
        yield "", bool(node), message, "add `key:`, or operator: Exists for every taint"
    if "tolerationSeconds" in node and str(node.get("effect", "")) != "NoExecute":
        message = "`tolerationSeconds` needs `effect: NoExecute`: no other taint ends a pod"
        yield "tolerationSeconds", True, message, "write effect: NoExecute, or take it out"


def _requirement(node: Mapping, whole: Object, route: Route) -> Iterator[Told]:
    operator, values = str(node.get("operator", "")), node.get("values")
    count = len(values) if isinstance(values, Sequence) else 0
    if operator in ("In", "NotIn") and not count:
        yield "operator", False, f"`operator: {operator}` needs values", "add values: [...]"
    elif operator in ("Exists", "DoesNotExist") and count:
        message = f"`operator: {operator}` takes no values"
        yield "values", True, message, "take it out, or write operator: In"
    elif operator in ("Gt", "Lt") and count != 1:
        yield "operator", False, f"`operator: {operator}` needs one number", 'add values: ["8"]'


def _terms(node: Mapping, whole: Object, route: Route) -> Iterator[Told]:
    terms = node.get("nodeSelectorTerms")
    if isinstance(terms, Sequence) and not terms:
        message = "a node affinity needs a term"
        yield "nodeSelectorTerms", False, message, "add one, or take the affinity out"


def _spread(node: Mapping, whole: Object, route: Route) -> Iterator[Told]:
    if "minDomains" in node and str(whole.get("whenUnsatisfiable", "")) == "ScheduleAnyway":
        message = "`minDomains` needs `whenUnsatisfiable: DoNotSchedule`"
        yield "minDomains", True, message, "take it out, or write DoNotSchedule"


def _mount(node: Mapping, whole: Object, route: Route) -> Iterator[Told]:
    if node.get("subPath") and node.get("subPathExpr"):
        message = "`subPathExpr` and `subPath` exclude each other"
        yield "subPathExpr", True, message, "keep one of the two"
    recursive = str(node.get("recursiveReadOnly", "Disabled"))
    if recursive != "Disabled" and not _true(whole, "readOnly"):
        message = "`recursiveReadOnly` needs `readOnly: true`"
        yield "recursiveReadOnly", True, message, "add readOnly: true"


def _named(owner: str) -> Need:
    field = _NAMED[owner]

    def need(node: Mapping, whole: Object, route: Route) -> Iterator[Told]:
        if not whole.get(field):
            what = "Secret" if owner.startswith("Secret") else "ConfigMap"
            written = field in node
            step = field if written else ""
            message = f"nothing says which {what} this is"
            yield step, not written and bool(node), message, f"add {field}: <name>"

    return need


def _one_of(owner: str) -> Need:
    names = _ONE_OF[owner]

    def need(node: Mapping, whole: Object, route: Route) -> Iterator[Told]:
        present = [name for name in names if name in node]
        if not any(name in whole for name in (*names, "fileKeyRef")):
            message = "nothing says where the value comes from"
            yield "", bool(node), message, f"add one of: {', '.join(names)}"
        elif len(present) > 1 and owner != "EnvVarSource":
            message = f"`{present[1]}` and `{present[0]}` exclude each other"
            yield present[1], True, message, "keep one of the two"

    return need


def _true(value: Object, name: str) -> bool:
    return str(value.get(name, "")).lower() == "true"


_NEEDS: dict[str, Need] = {
    "PodSpec": _pod,
    "Container": _container,
    "Probe": _probe,
    "LifecycleHandler": _handler,
    "SeccompProfile": _profile,
    "AppArmorProfile": _profile,
    "SecurityContext": _context,
    "Toleration": _toleration,
    "NodeSelectorRequirement": _requirement,
    "LabelSelectorRequirement": _requirement,
    "NodeSelector": _terms,
    "TopologySpreadConstraint": _spread,
    "VolumeMount": _mount,
    **{owner: _named(owner) for owner in _NAMED},
    **{owner: _one_of(owner) for owner in _ONE_OF},
}
