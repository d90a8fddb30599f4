"""What somebody meant who wrote a value in another notation: `2-4`, `retry: 3`, `{max:3}`."""

from __future__ import annotations

import re

from compiler.listnotation import mapping_by_name
from compiler.nodes import Mapping, Node, Scalar, Sequence, descend

_RANGE = re.compile(r"\s*([0-9]{1,5})\s*(?:-|–|—|\.\.\.?|,|:|/|to)\s*([0-9]{1,5})\s*")
_GLUED = re.compile(r"([A-Za-z_][\w-]*?)\s*([:=]|\s|(?=[0-9]))\s*(\S.*)")
# One value where a mapping is wanted: the key that holds such values, and their form.
_ALONE: dict[str, tuple[tuple[str, str], ...]] = {
    "retry": ((r"[0-9]+", "{{max: {}}}"),),
    "stop": ((r"[0-9]+(?:d|h|m|s).*", "{{grace: {}}}"),),
    "topology": ((r"[a-z][\w.-]*", "{{required: {}}}"),),
    "elastic": ((r"c10d|etcd|etcd-v2", "{{backend: {}}}"), (r"[0-9]+", "{{max_restarts: {}}}")),
    "checkpoint": (
        (r"/\S+", "{{claim: checkpoints, path: {}}}"),
        (r"[a-z][\w.-]*", "{{claim: {}, path: /ckpt}}"),
    ),
}
# Where nothing else can be meant, so that a fix may write it: `topology: rack` could be either of
# two, `checkpoint: /ckpt` leaves open which claim, and the comma of `2,4` may be a decimal one.
_CERTAIN = {
    "retry": re.compile(r"[0-9]+"),
    "stop": re.compile(r"[0-9]+(?:d|h|m|s).*"),
    "num_nodes": re.compile(r"\s*[0-9]+\s*(?:-|–|—|\.\.\.?|to)\s*[0-9]+\s*"),
}
_MOUNT = (
    (r"[0-9]+(?:\.[0-9]+)?[KMGTP]i?", "{{scratch: {}}}"),
    (r"[a-z][\w.-]*", "{{claim: {}}}"),
)


def key_of(route: tuple[str | int, ...]) -> str:
    """The last key of a route, without the marks of the shapes that a value may have."""
    keys = [step for step in plain_route(route) if isinstance(step, str)]
    return keys[-1] if keys else ""


def plain_route(route: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """A route without the marks of the shapes that a value may have, such as `<mapping>`."""
    return tuple(step for step in route if not (isinstance(step, str) and step.startswith("<")))


def mapping_of(route: tuple[str | int, ...], node: Node, by_name: bool = False) -> str | None:
    """The mapping that a value, or a list, in its place was probably meant to be; else None.

    `by_name` tells that the mapping's keys are names of its author.
    """
    key = key_of(route)
    if key == "num_nodes":
        return range_of(node)
    if isinstance(node, Sequence) and by_name:
        return mapping_by_name(key, node)
    if isinstance(node, Sequence):
        only = node[0] if len(node) == 1 else None
        return _shown(only) if isinstance(only, Mapping) else None
    if not isinstance(node, Scalar):
        return None
    forms = _MOUNT if plain_route(route)[-2:-1] == ("mounts",) else _ALONE.get(key, ())
    for form, meant in forms:
        if re.fullmatch(form, str(node)):
            return meant.format(node)
    return None


def swapped(root: Node, route: tuple[str | int, ...]) -> str | None:
    """The entry that one with its path behind the colon was meant to be; None where it is not so.

    `models: /models` under `mounts` has the claim first, as a line of Compose has.
    """
    value, complete = descend(root, plain_route(route))
    field, name = key_of(route[:-1]), str(route[-1]) if route else ""
    if not complete or not isinstance(value, Scalar) or not re.fullmatch(r"/[^\s:]*", value):
        return None
    if field == "mounts" and re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name):
        return f"{value}: {{claim: {name}}}"
    return f"{value}: {name}" if field == "files" and re.fullmatch(r"[\w./-]+", name) else None


def is_certain(route: tuple[str | int, ...], node: Node) -> bool:
    """Whether what `mapping_of` or `range_of` makes of a value is all that it can mean."""
    form = _CERTAIN.get(key_of(route))
    return form is not None and isinstance(node, Scalar) and form.fullmatch(node) is not None


def range_of(node: Node) -> str | None:
    """The range of nodes that `2-4`, `2 to 4`, `[2, 4]` or `{2, 4}` was meant to be; else None."""
    if isinstance(node, Scalar):
        found = _RANGE.fullmatch(str(node))
        ends = list(found.groups()) if found else []
    elif isinstance(node, Mapping):
        ends = [str(key) for key, value in node.items() if _empty(value)]
        ends = ends if len(ends) == len(node) else []
    else:
        ends = [str(item) for item in node if isinstance(item, Scalar)]
    if len(ends) != 2 or not all(re.fullmatch(r"[1-9][0-9]{0,4}", end) for end in ends):
        return None
    low, high = sorted(map(int, ends))
    return str(low) if low == high else f"{{min: {low}, max: {high}}}"


def separated(key: str, value: Node | None, known: list[str]) -> tuple[str, str] | None:
    """What is wrong with a key that has its value in it, and the two apart; None if it has not.

    `{max:3}` is one key without a value to YAML, and so are `{max=3}` and `{max 3}`.
    """
    if value is not None and not _empty(value):
        return None
    found = _GLUED.fullmatch(key)
    if found is None or found[1] not in known:
        return None
    what = "a space is missing after the colon" if found[2] == ":" else "a colon is missing"
    return what, f"{found[1]}: {found[3]}"


def parted(parent: Node, key: str) -> str | None:
    """The text that a comma has parted: `{every: 1h, 30m}` has a key `30m` without a value.

    None where the key is not of that kind.
    """
    if not isinstance(parent, Mapping) or not parent.flow or not _empty(parent.get(key, parent)):
        return None
    keys = [str(one) for one in parent]
    at = keys.index(key)
    before = parent[keys[at - 1]] if at else None
    if not isinstance(before, Scalar) or not before.plain or _empty(before):
        return None
    return f'{keys[at - 1]}: "{before}, {key}"'


def _empty(value: Node) -> bool:
    return isinstance(value, Scalar) and value.empty and value == ""


def _shown(node: Mapping) -> str | None:
    parts = [f"{key}: {value}" for key, value in node.items() if isinstance(value, Scalar)]
    return "{" + ", ".join(parts) + "}" if parts and len(parts) == len(node) else None
