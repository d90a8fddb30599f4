"""The effective values of a run with their origins, as `explain-job` shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from compiler.model import BUILT_IN, Route
from compiler.nodes import Mapping, Node, Scalar, walk
from compiler.results import RunResult
from compiler.security.hiding import masked, secrets_of


class Line(Struct, frozen=True):
    """One effective value: the field as a dotted route, the value, and where it was set."""

    route: Route
    value: str
    path: str | None
    line: int | None
    layer: str

    @property
    def origin(self) -> str:
        """The place and the layer, for a person."""
        if self.path is None:
            return "built in"
        return f"{self.path}:{self.line} ({self.layer})"

    def as_dict(self) -> dict[str, object]:
        """The line for JSON and for the table."""
        return {
            "field": dotted(self.route),
            "value": self.value,
            "from": self.origin,
            "path": self.path,
            "line": self.line,
            "layer": self.layer,
        }


def explanation(made: RunResult) -> Iterator[Line]:
    """Every leaf of the effective declaration, then what only the base says; no secret is told."""
    origins = made.run.origins
    roots = [root for root in (origins.effective, origins.master) if root is not None]
    secrets = [secret for root in roots for secret in secrets_of(root)]
    lines = [*_leaves(origins.effective, (), made, skip=("master",))]
    if origins.master is not None:
        lines += _leaves(origins.master, ("master",), made)
    for line in (*lines, *_of_base(made)):
        yield replace(line, value=masked(line.value, secrets))


def dotted(route: Route) -> str:
    """A route as it is read aloud: `mounts./data.claim`, `sidecars[0].image`."""
    text = ""
    for step in route:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _leaves(root: Node, prefix: Route, made: RunResult, skip: Route = ()) -> Iterator[Line]:
    for route, node in walk(root):
        if route[:1] and route[0] in skip:
            continue
        if isinstance(node, Scalar) or not node:
            yield _line((*prefix, *route), node, made)


def _line(route: Route, node: Node, made: RunResult) -> Line:
    text = str(node) if isinstance(node, Scalar) else "{}" if isinstance(node, Mapping) else "[]"
    if node.path == BUILT_IN:
        return Line(route, text, None, None, "built in")
    return Line(route, text, node.path, node.line, layer(node.path, made))


def layer(path: str, made: RunResult) -> str:
    """The name of the layer that a file is."""
    if path == made.run.path:
        return "declaration"
    if path == made.site.team.path:
        return "team"
    if path == made.site.cluster.path:
        return "cluster"
    if path.startswith("images/"):
        return "image"
    return "base" if path.startswith("base/") else "policy"


def _of_base(made: RunResult) -> Iterator[Line]:
    """The leaves of the base's object that reach the run's object unchanged."""
    for route, value in _kept(made.base.object, made.objects[0], ()):
        place = made.base.place(route)
        yield Line(("base", *route), _written(value), place.path, place.line, "base")


def _kept(base: Any, built: Any, route: Route) -> Iterator[tuple[Route, Any]]:
    if isinstance(base, dict) and isinstance(built, dict):
        pairs = cast("dict[str, Any]", base), cast("dict[str, Any]", built)
        for key, value in pairs[0].items():
            if key in pairs[1]:
                yield from _kept(value, pairs[1][key], (*route, key))
    elif isinstance(base, list) and isinstance(built, list):
        for index, item in enumerate(cast("list[Any]", base)):
            match = _partner(item, cast("list[Any]", built), index)
            if match is not None:
                yield from _kept(item, match, (*route, index))
    elif base == built and route[-1:] not in (("kind",), ("apiVersion",), ("name",)):
        yield route, base


def _written(value: Any) -> str:
    """A value of an object as YAML has it: `false`, not `False`."""
    return value if isinstance(value, str) else json.dumps(value)


def _partner(item: Any, items: list[Any], index: int) -> Any:
    """The item of the built list that an item of the base's list became; None where it went."""
    name = _named(item)
    if name is not None:
        return next((other for other in items if _named(other) == name), None)
    return items[index] if index < len(items) and items[index] == item else None


def _named(item: Any) -> Any:
    return cast("dict[str, Any]", item).get("name") if isinstance(item, dict) else None
