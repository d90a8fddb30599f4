"""What a schema may be: how long, how deep, how wide, and naming nothing outside of itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

LONGEST = 256 * 1024
DEEPEST = 32
WIDEST = 20_000

Json = Mapping[str, Any]


class BadSchema(Exception):
    """Why a schema cannot be used; `help` is what to write."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.help = help


def resolved(root: Json, reference: Any, where: str) -> Json:
    """The part of the schema that a reference names; raises BadSchema."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        raise BadSchema(
            f"`{where}` refers to {shown(reference)}, which is not in this file",
            "copy what it refers to into `$defs`: nothing is fetched",
        )
    node: Any = root
    for step in reference[1:].split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        node = cast("dict[str, Any]", node).get(step) if isinstance(node, dict) else None
    if not isinstance(node, dict) or reference[1:2] not in ("", "/"):
        raise BadSchema(f"`{where}` refers to {shown(reference)}, and there is no such part")
    return cast("Json", node)


def keep_limits(root: Json) -> None:
    """Raise BadSchema for a schema that is too deep, too large, or refers to itself.

    With each reference put in place of itself, a few lines can stand for millions.
    """
    sizes: dict[int, int] = {}
    open_: set[int] = set()

    def size(node: Any, depth: int, where: str) -> int:
        if depth > DEEPEST:
            raise BadSchema("it is nested too deeply", "write a flat schema")
        if not isinstance(node, (dict, list)):
            return 1
        node = cast("Any", node)
        key_of = id(node)
        if key_of in sizes:
            return sizes[key_of]
        if key_of in open_:
            raise BadSchema(f"`{where}` contains itself", "write arguments as plain values")
        open_.add(key_of)
        total = 1
        if isinstance(node, list):
            for item in cast("list[Any]", node):
                total += size(item, depth + 1, where)
        else:
            for key, value in cast("dict[str, Any]", node).items():
                if key == "$ref":
                    total += size(resolved(root, value, where), depth + 1, where)
                elif key in ("$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor"):
                    raise BadSchema(f"it has a {key}", "refer to `$defs` with `$ref`")
                elif key == "$id" and node is not root:
                    raise BadSchema("a part of it has an $id of its own", "take it out")
                else:
                    total += size(value, depth + 1, where if key.startswith("$") else key)
        if total > WIDEST:
            raise BadSchema("it is too large", "declare fewer arguments")
        open_.discard(key_of)
        sizes[key_of] = total
        return total

    size(root, 0, "the schema")


def shown(value: Any) -> str:
    """A value of a schema as a message shows it: in one line, not too long."""
    text = value if isinstance(value, str) else json.dumps(value)
    return f"`{text[:60]}...`" if len(text) > 60 else f"`{text}`"
