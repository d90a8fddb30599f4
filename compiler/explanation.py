"""The effective values of a run with their origins, as `explain-job` shows them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compiler.model import BUILT_IN, Route
from compiler.nodes import Mapping, Node, Scalar, Sequence, walk
from compiler.project import RunResult

# Of the effective tree, what is not a value of the run but its place in history.
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Line:
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
    """Every leaf of the effective declaration, then what only the base says."""
    origins = made.run.origins
    yield from _leaves(origins.effective, (), made, skip=("master",))
    if origins.master is not None:
        yield from _leaves(origins.master, ("master",), made)
    yield from _of_base(made)


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
        if isinstance(node, Scalar) or (isinstance(node, Mapping | Sequence) and not node):
            yield _line((*prefix, *route), node, made)


def _line(route: Route, node: Node, made: RunResult) -> Line:
    text = str(node) if isinstance(node, Scalar) else "{}" if isinstance(node, Mapping) else "[]"
    first, newline, _ = text.partition("\n")
    shown = first if len(first) <= _LONGEST else first[: _LONGEST - 3] + "..."
    shown += " ..." if newline else ""
    if node.path == BUILT_IN:
        return Line(route, shown, None, None, "built in")
    return Line(route, shown, node.path, node.line, layer(node.path, made))


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

    def walk_base(base: object, built: object, route: Route) -> Iterator[Line]:
        if isinstance(base, dict) and isinstance(built, dict):
            for key, value in base.items():  # type: ignore[misc]
                if key in built:
                    yield from walk_base(value, built[key], (*route, str(key)))  # type: ignore[misc]
        elif isinstance(base, list) and isinstance(built, list):
            for index, item in enumerate(base):  # type: ignore[misc]
                match = _partner(item, built, index)  # type: ignore[misc]
                if match is not None:
                    yield from walk_base(item, match, (*route, index))
        elif base == built and route[-1:] not in (("kind",), ("apiVersion",), ("name",)):
            place = made.base.place(route)
            yield Line(("base", *route), str(base), place.path, place.line, "base")

    yield from walk_base(made.base.object, made.objects[0], ())


def _partner(item: object, items: list[object], index: int) -> object | None:
    if isinstance(item, dict) and "name" in item:
        return next((i for i in items if isinstance(i, dict) and i.get("name") == item["name"]), None)  # type: ignore[misc]
    return items[index] if index < len(items) and items[index] == item else None
