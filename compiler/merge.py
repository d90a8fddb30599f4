"""Merging by keys: layers of a declaration, and Kubernetes objects over a base.

Stock kustomize replaces whole lists in a PyTorchJob (it knows no merge keys for it), so the
compiler merges them itself. The keys are those of the Kubernetes API
(`x-kubernetes-list-map-keys` and `patchMergeKey` of k8s.io/api/core/v1/types.go).
"""

from __future__ import annotations

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
# In these, what the lower layer adds comes first: an upper variable may refer to a lower one by
# $(NAME), and Kubernetes expands only names defined earlier in the list.
LOWER_FIRST = frozenset({"env", "envFrom"})


def merge(upper: Any, lower: Any, field: str = "") -> Any:
    """`upper` over `lower`: maps merge, lists merge by their key, everything else is replaced.

    Neither argument is changed; parts of both are shared by the result. Nodes stay nodes, with
    the place of the layer that they came from.
    """
    if isinstance(upper, dict) and isinstance(lower, dict):
        return _maps(upper, lower)  # type: ignore[arg-type]
    if isinstance(upper, list) and isinstance(lower, list):
        if field in LIST_KEYS:
            return _keyed(upper, lower, field)  # type: ignore[arg-type]
        if field in UNIONS:
            return _like(upper, [*[item for item in lower if item not in upper], *upper])  # type: ignore[arg-type]
    return upper


def _maps(upper: dict[str, Any], lower: dict[str, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for key, value in upper.items():
        merged[key] = merge(value, lower[key], str(key)) if key in lower else value
    for key, value in lower.items():
        if key not in upper:
            merged[key] = value
    return _like(upper, merged)


def _keyed(upper: list[Any], lower: list[Any], field: str) -> list[Any]:
    names = LIST_KEYS[field]

    def key(item: Any) -> tuple[str, ...]:
        if not isinstance(item, dict):
            return (repr(item),)
        # The protocol of a port is TCP where it is not written (core/v1 defaults).
        return tuple(str(item.get(name, "TCP" if name == "protocol" else "")) for name in names)  # type: ignore[misc]

    below = {key(item): item for item in lower}
    above = {key(item) for item in upper}
    ours = [merge(item, below[key(item)]) if key(item) in below else item for item in upper]
    rest = [item for item in lower if key(item) not in above]
    return _like(upper, [*rest, *ours] if field in LOWER_FIRST else [*ours, *rest])


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
