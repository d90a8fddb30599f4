"""What the sources of a pod's volumes and variables demand of their fields together.

As `podlimits`, this follows k8s.io/kubernetes, pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.model import Route
from compiler.nodes import Mapping, Scalar
from compiler.passthrough import Object, listed, mapped
from compiler.podlimits import Mistake, Need
from compiler.quantity import parse
from compiler.scalars import shown

_ONE_OF: dict[str, tuple[str, ...]] = {
    "EnvVarSource": ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef"),
    "EnvFromSource": ("configMapRef", "secretRef"),
    "DownwardAPIVolumeFile": ("fieldRef", "resourceFieldRef"),
}
_REQUEST = "resources: {requests: {storage: 10Gi}}"
_DIVISORS = ("1", "1k", "1M", "1G", "1T", "1Ki", "1Mi", "1Gi", "1Ti")
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


def _named(owner: str) -> Need:
    field = _NAMED[owner]

    def need(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
        if not whole.get(field):
            what = "Secret" if owner.startswith("Secret") else "ConfigMap"
            written = field in node
            step = field if written else ""
            message = f"nothing says which {what} this is"
            yield step, not written and bool(node), message, f"add {field}: <name>"

    return need


def _one_of(owner: str) -> Need:
    names = _ONE_OF[owner]

    def need(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
        present = [name for name in names if name in node]
        if not any(name in whole for name in (*names, "fileKeyRef")):
            message = "nothing says where the value comes from"
            yield "", bool(node), message, f"add one of: {', '.join(names)}"
        elif len(present) > 1 and owner != "EnvVarSource":
            message = f"`{present[1]}` and `{present[0]}` exclude each other"
            yield present[1], True, message, "keep one of the two"

    return need


def _own_claim(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    if not whole.get("volumeClaimTemplate"):
        message = "an ephemeral volume needs the claim that is made for it"
        remedy = "add volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], " + _REQUEST + "}}"
        yield "", bool(node), message, remedy


def _claim(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    requests = mapped(mapped(whole.get("resources")).get("requests"))
    modes = [str(mode) for mode in listed(whole.get("accessModes"))]
    missing = {
        "accessModes: [ReadWriteOnce]": bool(modes),
        _REQUEST: "storage" in requests,
    }
    absent = [text for text, there in missing.items() if not there]
    if absent:
        names = " and ".join(text.partition(":")[0] for text in absent)
        what = "a size (resources.requests.storage)" if names == "resources" else f"`{names}`"
        if len(absent) == 2:
            what = "`accessModes` and a size (resources.requests.storage)"
        yield "", bool(node), f"the claim of the volume needs {what}", f"add {', '.join(absent)}"
    size = requests.get("storage")
    if isinstance(size, Scalar):
        amount = parse(str(size).removeprefix("-"))
        if amount is not None and (str(size).startswith("-") or not amount.value):
            message = f"{shown(size)} is no size of a volume: more than 0 is possible"
            yield ("resources", "requests", "storage"), False, message, "write a size such as 10Gi"
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        message = "`ReadWriteOncePod` stands alone: no other mode beside it"
        yield "accessModes", False, message, "write [ReadWriteOncePod], or take it out"


def _projected(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    """Files of two sources with one path; the other kinds of sources are not compared."""
    taken: set[str] = set()
    for number, source in enumerate(listed(node.get("sources"))):
        for kind in ("secret", "configMap", "downwardAPI"):
            for index, item in enumerate(listed(mapped(mapped(source).get(kind)).get("items"))):
                path = mapped(item).get("path")
                if path and str(path) in taken:
                    message = f"two files of the volume have the path `{path}`"
                    steps = ("sources", number, kind, "items", index, "path")
                    yield steps, False, message, "give one of the two another path"
                taken.add(str(path))


def _projection(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    kinds = [str(kind) for kind in node]
    if len(kinds) > 1:
        message = f"`{kinds[1]}` and `{kinds[0]}` are two sources in one item"
        yield kinds[1], True, message, f"write it as an item of its own: - {kinds[1]}: ..."


def _told_amount(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    if "volumes" in route and not whole.get("containerName"):
        message = "a file about resources needs the container whose they are"
        yield "", bool(node), message, "add containerName: <container>"
    divisor, resource = node.get("divisor"), str(node.get("resource", ""))
    if not isinstance(divisor, Scalar) or divisor.empty:
        return
    steps = ("1m", "1") if resource.endswith(".cpu") else _DIVISORS
    amount = parse(str(divisor))
    known = [parse(step) for step in steps]
    if (
        amount is not None
        and amount.value
        and all(step is None or step.value != amount.value for step in known)
    ):
        message = f"{shown(divisor)} is no unit of `{resource}`"
        yield "divisor", False, message, f"write one of: {', '.join(steps)}"


def _resource_claim(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    names = ("resourceClaimName", "resourceClaimTemplateName")
    present = [name for name in names if whole.get(name)]
    if not present:
        message = "nothing says which claim or template this is"
        yield "name", False, message, f"add one of: {', '.join(names)}"
    elif len(present) > 1:
        step = next((str(name) for name in reversed(list(node)) if name in names), "")
        yield step, True, "`{1}` and `{0}` exclude each other".format(*names), "keep one of the two"


NEEDS: dict[str, Need] = {
    **{owner: _named(owner) for owner in _NAMED},
    **{owner: _one_of(owner) for owner in _ONE_OF},
    "EphemeralVolumeSource": _own_claim,
    "PersistentVolumeClaimSpec": _claim,
    "ProjectedVolumeSource": _projected,
    "VolumeProjection": _projection,
    "ResourceFieldSelector": _told_amount,
    "PodResourceClaim": _resource_claim,
}
