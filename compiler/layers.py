"""The layers below a declaration: team, image, accelerator shape, base, built-in.

The first layer that sets a leaf wins; maps merge, lists replace. The layers are trees of nodes, so
the effective declaration remembers for every leaf the file and line of the layer that set it.
"""

from __future__ import annotations

from typing import Any

from compiler.declaration import Member
from compiler.merge import merge
from compiler.model import mapping, scalar
from compiler.names import AcceleratorCount
from compiler.nodes import Mapping, Node, Scalar
from compiler.policy.cluster import Accelerator, Cluster

# A mapping under these keys is one value: half of one layer's mount and half of another's is
# neither.
WHOLE = frozenset(
    {"cpu", "memory", "num_nodes", "rerun", "from", "accelerators", "topology", "args"}
)
WHOLE_ITEMS = frozenset({"mounts", "files", "secrets"})
MEMBER_KEYS = frozenset(Member.model_fields)


def over(upper: Mapping, lower: Mapping) -> Mapping:
    """The fields of `upper`, and those of `lower` that it does not set."""
    merged: dict[Any, Any] = {}
    for key, value in upper.items():
        if key not in lower:
            merged[key] = value
        elif key == "pod":
            merged[key] = merge(value, lower[key])
        elif key in WHOLE and not (key == "args" and isinstance(value, Mapping)):
            merged[key] = value
        else:
            merged[key] = _leaves(value, lower[key], str(key))
    merged.update({key: value for key, value in lower.items() if key not in upper})
    return mapping(merged, upper)


def _leaves(upper: Node, lower: Node, field: str) -> Node:
    if not (isinstance(upper, Mapping) and isinstance(lower, Mapping)):
        return upper
    if field == "master":
        return over(upper, lower)
    merged: dict[Any, Any] = dict(upper)
    for key, value in lower.items():
        if key not in upper:
            merged[key] = value
        elif field not in WHOLE_ITEMS and key not in WHOLE:
            # The key stays the upper layer's own scalar.
            own = upper.key(key)
            merged[own] = _leaves(upper[key], value, str(key))
    return mapping(merged, upper)


def built_in(elastic: bool, checkpoint: bool) -> Mapping:
    """The values that hold where nobody says otherwise."""
    fields: dict[str, Any] = {
        "pull": "if-not-present",
        "shm_size": "8Gi",
        "retry": {"max": "0"},
        "stop": {"grace": "30s"},
        "host_network": "false",
        "security": {"service_account_token": "false"},
    }
    if elastic:
        fields["elastic"] = {"backend": "c10d", "max_restarts": "3"}
    if checkpoint:
        fields["checkpoint"] = {"path": "/checkpoints", "keep": "3"}
    return _tree(fields)


def _tree(value: Any) -> Any:
    if isinstance(value, dict):
        return mapping({scalar(k): _tree(v) for k, v in value.items()})  # type: ignore[misc]
    return scalar(value)


def shape(
    accelerator: Accelerator, node: Mapping, count: AcceleratorCount, several: bool
) -> Mapping:
    """What a cluster gives a job for its accelerators: cores, memory, device settings.

    `node` is the catalogue entry's own tree, so that each computed value stands at the line of
    policy that it was computed from.
    """
    fields: dict[Any, Any] = {}
    per = accelerator.per_accelerator
    per_node = node.get("per_accelerator")
    if per is not None and isinstance(per_node, Mapping):
        for name, amount in (("cpu", per.cpu), ("memory", per.memory), ("shm_size", per.shm_size)):
            if amount is not None:
                fields[per_node.key(name)] = scalar(str(amount.times(count.count)), per_node[name])
    env = node.get("env")
    if isinstance(env, Mapping):
        fields[node.key("env")] = env
    multi = node.get("multi_node")
    if several and isinstance(multi, Mapping):
        for name in ("env", "resources", "annotations"):
            part = multi.get(name)
            if isinstance(part, Mapping):
                below = fields.get(name)
                fields[multi.key(name)] = _leaves(part, below, name) if below is not None else part
        if "capabilities" in multi:
            fields[scalar("security", multi["capabilities"])] = mapping(
                {multi.key("capabilities"): multi["capabilities"]}, multi["capabilities"]
            )
    return mapping(fields, node)


def network(cluster: Cluster, node: Mapping, several: bool) -> Mapping | None:
    """The environment of runs on several nodes: which interface the nodes talk over."""
    if not several or cluster.network is None or cluster.network.interface is None:
        return None
    part = node["network"]
    assert isinstance(part, Mapping)
    interface = part["interface"]
    assert isinstance(interface, Scalar)
    key = part.key("interface")
    names = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
    env = mapping(
        {scalar(name, key): scalar(str(interface), interface) for name in names}, interface
    )
    return mapping({scalar("env", key): env}, interface)
