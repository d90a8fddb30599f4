"""Merging by keys: layers of a declaration, and Kubernetes objects over a base.

Stock kustomize replaces whole lists in a PyTorchJob (it knows no merge keys for it), so the
compiler merges them itself. The keys are those of the Kubernetes API
(`x-kubernetes-list-map-keys` and `patchMergeKey` of k8s.io/api/core/v1/types.go).
"""

from __future__ import annotations

from posixpath import normpath
from typing import Any

from compiler.nodes import Mapping, Sequence

LIST_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "ports": ("containerPort", "protocol"),
    "imagePullSecrets": ("name",),
    "hostAliases": ("ip",),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}
# Lists without keys of which every item counts: both layers' items are kept.
UNIONS = frozenset({"tolerations", "envFrom"})
# Fields of which a mapping (or an item of a list) may have one: where the upper layer chooses one,
# the lower layer's choice goes. None stands for all fields but the key.
_HANDLERS = frozenset({"exec", "httpGet", "tcpSocket", "grpc", "sleep"})
ALTERNATIVES: dict[str, frozenset[str] | None] = {
    "volumes": None,
    "env": frozenset({"value", "valueFrom"}),
    "valueFrom": frozenset(
        {"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"}
    ),
    "livenessProbe": _HANDLERS,
    "readinessProbe": _HANDLERS,
    "startupProbe": _HANDLERS,
    "postStart": _HANDLERS,
    "preStop": _HANDLERS,
}
# In these, what the lower layer adds comes first: an upper variable may refer to a lower one by
# $(NAME), and Kubernetes expands only names defined earlier in the list.
LOWER_FIRST = frozenset({"env", "envFrom"})


def chosen(item: dict[str, Any], field: str) -> list[str]:
    """The fields of a mapping (or list item) under `field` that exclude each other."""
    if field not in ALTERNATIVES:
        return []
    names = ALTERNATIVES[field]
    return [name for name in item if (name != "name" if names is None else name in names)]


def key_of(item: Any, field: str) -> tuple[str, ...]:
    """What an item of the keyed list `field` is known by; its own text where it is no mapping."""
    if not isinstance(item, dict):
        return (repr(item),)
    # The protocol of a port is TCP where it is not written (core/v1 defaults).
    parts = [str(item.get(name, "TCP" if name == "protocol" else "")) for name in LIST_KEYS[field]]  # type: ignore[misc]
    if field == "volumeMounts" and parts[0].startswith("/"):
        # `/dev/shm/` is the same place, though Kubernetes takes it for another.
        parts[0] = normpath("/" + parts[0].lstrip("/"))
    return tuple(parts)


def merge(upper: Any, lower: Any, field: str = "") -> Any:
    """`upper` over `lower`: maps merge, lists merge by their key, everything else is replaced.

    Neither argument is changed; parts of both are shared by the result. Nodes stay nodes, with
    the place of the layer that they came from.
    """
    if isinstance(upper, dict) and isinstance(lower, dict):
        return _maps(upper, lower, field)  # type: ignore[arg-type]
    if isinstance(upper, list) and isinstance(lower, list):
        if field in LIST_KEYS:
            return _keyed(upper, lower, field)  # type: ignore[arg-type]
        if field in UNIONS:
            return _like(upper, [*[item for item in lower if item not in upper], *upper])  # type: ignore[arg-type]
    return upper  # type: ignore[no-any-return]


def _maps(upper: dict[str, Any], lower: dict[str, Any], field: str) -> dict[str, Any]:
    choice = chosen(upper, field)
    given_up = {name for name in chosen(lower, field) if choice and name not in choice}
    merged: dict[str, Any] = {}
    for key, value in upper.items():
        merged[key] = merge(value, lower[key], str(key)) if key in lower else value
    left = {k: v for k, v in lower.items() if k not in upper and k not in given_up}
    return _like(upper, merged | left)


def _keyed(upper: list[Any], lower: list[Any], field: str) -> list[Any]:
    below = {key_of(item, field): item for item in lower}
    above = {key_of(item, field) for item in upper}
    ours = [_item(item, below.get(key_of(item, field)), field) for item in upper]
    rest = [item for item in lower if key_of(item, field) not in above]
    return _like(upper, [*rest, *ours] if field in LOWER_FIRST else [*ours, *rest])


def _item(upper: Any, lower: Any, field: str) -> Any:
    if not (isinstance(upper, dict) and isinstance(lower, dict)):
        return upper  # type: ignore[no-any-return]
    if field == "volumeMounts" and "name" in upper and upper["name"] != lower.get("name"):  # type: ignore[misc]
        # Another volume at this path: what was said of the first one (a folder in it, read-only)
        # does not hold for it.
        return upper  # type: ignore[no-any-return]
    return _maps(upper, lower, field)  # type: ignore[arg-type]


def _like(node: Any, content: Any) -> Any:
    """The content as the same kind of node, at the same place; plain data stays plain."""
    if isinstance(node, Mapping):
        made: Mapping | Sequence = Mapping(content)
    elif isinstance(node, Sequence):
        made = Sequence(content)
    else:
        return content
    made.path, made.flow = node.path, node.flow
    made.line, made.column = node.line, node.column
    made.end_line, made.end_column = node.end_line, node.end_column
    return made
