"""The nodes of a YAML file: plain text, dict and list that remember where they stand.

`Scalar` is a `str` holding the text as YAML's quoting and folding define it, whatever a parser
would make of it (`1e-5`, `on`, `010` keep their letters): what it means depends on the type that
is wanted, and `compiler.fields` decides that. `Mapping` and `Sequence` are a `dict` and a `list`,
so pydantic and plain code read them as they are. Keys are `Scalar`s too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compiler.diagnostics import Place


class Scalar(str):
    """The text of a scalar; `style` is '' for plain, else one of ' " | > ."""

    __slots__ = ("column", "end_column", "end_line", "line", "path", "style")

    path: str
    style: str
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def place(self) -> Place:
        return Place(self.path, self.line, self.column, self.end_line, self.end_column)

    @property
    def plain(self) -> bool:
        return self.style == ""

    @property
    def empty(self) -> bool:
        """A plain scalar that YAML reads as null: nothing, `~` or `null`."""
        return self.style == "" and str(self) in ("", "~", "null", "Null", "NULL")


class Mapping(dict[str, "Node"]):
    """A mapping; `flow` tells `{a: b}` from a block. Keys are `Scalar`s with places."""

    __slots__ = ("column", "end_column", "end_line", "flow", "line", "path")

    path: str
    flow: bool
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def place(self) -> Place:
        return Place(self.path, self.line, self.column, self.end_line, self.end_column)

    def key(self, name: str) -> Scalar | None:
        """The key `name` as it stands in the file, or None."""
        return next((k for k in self if k == name), None)  # type: ignore[return-value]


class Sequence(list["Node"]):
    """A sequence; `flow` tells `[a, b]` from a block."""

    __slots__ = ("column", "end_column", "end_line", "flow", "line", "path")

    path: str
    flow: bool
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def place(self) -> Place:
        return Place(self.path, self.line, self.column, self.end_line, self.end_column)


Node = Scalar | Mapping | Sequence


def descend(root: Node, route: tuple[str | int, ...], key: bool = False) -> tuple[Node, bool]:
    """The node at a route, or the deepest node on the way to it that exists.

    Returns the node (the key's scalar where `key` is set and the last step is a mapping's key)
    and whether the whole route was there. Steps that the tree does not have are the tags that
    pydantic puts into the place of an error; they are stepped over.
    """
    node: Any = root
    found: Node = root
    complete = True
    for step in route:
        if isinstance(node, Mapping) and isinstance(step, str) and step in node:
            found = node.key(step) if key else node[step]  # type: ignore[assignment]
            node = node[step]
        elif isinstance(node, Sequence) and isinstance(step, int) and 0 <= step < len(node):
            found = node = node[step]
        else:
            complete = False
    return found, complete


def plain(node: Any) -> Any:
    """The node as plain str, dict and list, without places."""
    if isinstance(node, dict):
        return {str(key): plain(value) for key, value in node.items()}  # type: ignore[misc]
    if isinstance(node, list):
        return [plain(item) for item in node]  # type: ignore[misc]
    return str(node) if isinstance(node, str) else node


def walk(
    node: Node, route: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Node]]:
    """Every node under this one, itself first, with its route."""
    yield route, node
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from walk(value, (*route, str(key)))
    elif isinstance(node, Sequence):
        for index, item in enumerate(node):
            yield from walk(item, (*route, index))


def move(tree: Node, to: Scalar) -> None:
    """Put a tree that was read from a text at the place of that text."""
    for _, node in walk(tree):
        keys: list[Any] = list(node) if isinstance(node, Mapping) else []
        for each in (node, *keys):
            each.line, each.column = to.line, to.column
            each.end_line, each.end_column = to.end_line, to.end_column
