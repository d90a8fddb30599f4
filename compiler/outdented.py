"""Keys that stand beside a key below which they belong: the indentation is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, get_args, get_origin

from pydantic import BaseModel

from compiler.diagnostics import Finding, Related
from compiler.nodes import Mapping, Node, descend
from compiler.rules import finding

Route = tuple[str | int, ...]


class Outdented(NamedTuple):
    """Keys of one mapping that belong below `above`, which stands right before them."""

    parent: Route
    above: str
    keys: tuple[str, ...]

    @property
    def routes(self) -> set[Route]:
        """What else would be said of them: unknown here, missing there, and no value above."""
        return {
            (*self.parent, self.above),
            *((*self.parent, key) for key in self.keys),
            *((*self.parent, self.above, key) for key in self.keys),
        }

    def told(self, node: Node) -> Finding:
        """The one finding for them."""
        parent, _ = descend(node, self.parent)
        assert isinstance(parent, Mapping)
        first, above = parent.key(self.keys[0]), parent.key(self.above)
        assert first is not None
        assert above is not None
        names = [f"`{key}`" for key in self.keys]
        several = len(names) > 1
        shown = f"{', '.join(names[:-1])} and {names[-1]}" if several else names[0]
        if len(names) > 6:
            shown = f"{names[0]} and {len(names) - 1} more keys"
        lines = f"lines of {names[0]} to {names[-1]}" if several else f"line of {names[0]}"
        return finding(
            "unknown-key",
            first.place,
            f"{shown} {'stand' if several else 'stands'} beside `{self.above}`, not below it",
            f"write two spaces more before the {lines}",
            related=[Related(above.place, "where they belong" if several else "where it belongs")],
        )


def outdented(
    node: Node,
    unknown: set[Route],
    empty: set[Route],
    models: Callable[[Route], tuple[type[BaseModel], ...]],
    foreign: Callable[[str, list[str]], bool],
) -> Iterator[Outdented]:
    """The groups of such keys.

    Args:
        node: The file's value.
        unknown: The routes of keys that their mapping may not have.
        empty: The routes of keys without a value that may hold a mapping.
        models: The models of which the mapping at a route may be.
        foreign: Whether a key that nobody knows is not just one of these that is misspelt.
    """
    for route in sorted({route[:-1] for route in unknown}, key=str):
        parent, _ = descend(node, route)
        if not isinstance(parent, Mapping) or parent.flow:
            continue
        above: str | None = None
        group: list[str] = []
        for key in [*parent, None]:
            if (
                key is not None
                and above is not None
                and (*route, key) in unknown
                and _belongs(key, parent[above], (*route, above), models, foreign)
            ):
                group.append(key)
                continue
            if above is not None and group:
                yield Outdented(route, above, tuple(group))
            above, group = None, []
            if key is not None and (*route, key) not in unknown:
                value = parent[key]
                below = isinstance(value, Mapping) and not value.flow
                above = key if below or (*route, key) in empty else None


def _belongs(
    key: str,
    value: Node,
    route: Route,
    models: Callable[[Route], tuple[type[BaseModel], ...]],
    foreign: Callable[[str, list[str]], bool],
) -> bool:
    """Whether a key that its mapping may not have may stand in the one at `route`."""
    if isinstance(value, Mapping) and key in value:
        return False
    around = models(route[:-1])
    name = str(route[-1])
    fields = [
        info.annotation
        for model in around
        for field, info in model.model_fields.items()
        if (info.alias or field) == name
    ]
    if any(_by_name(annotation) for annotation in fields):
        known = [
            info.alias or field for model in around for field, info in model.model_fields.items()
        ]
        return foreign(key, known) and (not isinstance(value, Mapping) or _alike(key, value))
    return any(
        (info.alias or field) == key
        for model in models(route)
        if model not in around
        for field, info in model.model_fields.items()
    )


def _alike(key: str, names: Mapping) -> bool:
    """Whether a key looks like the names of a mapping, and like no field: `NCCL_DEBUG`, `/data`."""
    return any(
        (key.isupper() and name.isupper()) or (key[:1] == "/" and name[:1] == "/") for name in names
    )


def _by_name(annotation: Any) -> bool:
    """Whether a field is a mapping whose keys are names of its author."""
    return get_origin(annotation) is dict or any(_by_name(part) for part in get_args(annotation))
