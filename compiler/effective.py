"""The effective declaration of a job on a cluster: all layers merged, then typed.

This is where each value gets its origin: the merged tree consists of the nodes of the layers
themselves, so nothing has to be looked up again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from msgspec import Struct

from compiler.declaration import Declaration, Member
from compiler.diagnostics import Finding
from compiler.layers import MEMBER_KEYS, built_in, network, over, shape
from compiler.model import Origins, mapping, scalar
from compiler.names import AcceleratorCount
from compiler.nodes import Mapping, Scalar
from compiler.policy.cluster import Cluster
from compiler.policy.team import Team
from compiler.repository import Document, Policy
from compiler.validation import validate


class Effective(Struct, frozen=True):
    """The typed effective declaration, the first node's own fields, and all origins."""

    declaration: Declaration
    first: Member | None
    origins: Origins


def effective(
    declared: Mapping,
    cluster_name: str,
    team: Document[Team],
    policy: Policy,
    base_of: Callable[[bool], Mapping | None],
) -> tuple[Effective | None, list[Finding]]:
    """The effective declaration, or what is wrong with the declared one.

    `base_of` gives what the base of the back end says in the words of a declaration; which back
    end that is depends on whether the run has several nodes.
    """
    cluster = policy.clusters[cluster_name]
    upper = declared
    defaults = team.node.get("defaults")
    if isinstance(defaults, Mapping):
        upper = over(upper, defaults)
    image = upper.get("image")
    if isinstance(image, Scalar) and image in policy.images:
        upper = over(upper, _of_image(policy, str(image)))
    several = _several(upper)
    base = base_of(several)
    merged = over(upper, _lower_layers(upper, policy, cluster, several, base))
    declaration, findings = validate(Declaration, merged, "a job")
    if declaration is None:
        # The same mistake, said about the declaration itself where it stands there.
        _, own = validate(Declaration, declared, "a job")
        return None, own or findings
    first: Member | None = None
    master: Mapping | None = None
    block = upper.get("master")
    if isinstance(block, Mapping) and block:
        shared = mapping({key: value for key, value in upper.items() if key in MEMBER_KEYS}, upper)
        own = over(block, shared)
        master = over(own, _lower_layers(own, policy, cluster, several, base))
        master = mapping({k: v for k, v in master.items() if k in MEMBER_KEYS}, block)
        first, findings = validate(Member, master, "`master`")
        if first is None:
            return None, findings
    anchor = next(iter(declared), None)
    place = anchor.place if isinstance(anchor, Scalar) else declared.place
    return Effective(declaration, first, Origins(merged, master, place)), []


def _of_image(policy: Policy, name: str) -> Mapping:
    """What an image says in the words of a declaration: its defaults, and its entry as command."""
    made = policy.layers.get(name)
    if made is None:
        image = policy.images[name].node
        defaults = image.get("defaults")
        fields = dict(defaults) if isinstance(defaults, Mapping) else {}
        if "command" not in fields and "entry" in image:
            fields[scalar("command", image.key("entry"))] = image["entry"]
        made = policy.layers[name] = mapping(fields, image)
    return made


def _several(upper: Mapping) -> bool:
    nodes = upper.get("num_nodes")
    return isinstance(nodes, Mapping) or (isinstance(nodes, Scalar) and nodes not in ("1", ""))


def _lower_layers(
    upper: Mapping,
    policy: Policy,
    cluster: Document[Cluster],
    several: bool,
    base: Mapping | None,
) -> Mapping:
    """The layers below declaration, team and image, as one: few kinds of run share them all.

    Merging is associative where, as here, no two of the merged layers have a `pod:`.
    """
    count = _accelerators(upper)
    elastic = isinstance(upper.get("num_nodes"), Mapping)
    checkpoint = isinstance(upper.get("checkpoint"), Mapping)
    kind = (cluster.name, count, several, elastic, checkpoint, id(base))
    made = policy.layers.get(kind)
    if made is not None:
        return made
    layers: list[Mapping] = []
    if count is not None:
        entry = (cluster.value.accelerators or {}).get(count.name)
        catalogue = cluster.node.get("accelerators")
        node = catalogue.get(count.name) if isinstance(catalogue, Mapping) else None
        if entry is not None and isinstance(node, Mapping):
            layers.append(shape(entry, node, count, several))
    between = network(cluster.value, cluster.node, several)
    if between is not None:
        layers.append(between)
    if base is not None:
        layers.append(base)
    made = reduce(over, [*layers, built_in(elastic, checkpoint)])
    policy.layers[kind] = made
    return made


def _accelerators(upper: Mapping) -> AcceleratorCount | None:
    word = upper.get("accelerators")
    if not isinstance(word, Scalar):
        return None
    name, _, count = word.partition(":")
    if count and not (
        count.isascii() and count.isdigit() and 0 < len(count) < 5 and int(count) > 0
    ):
        return None
    return AcceleratorCount(name.strip(), int(count or 1))
