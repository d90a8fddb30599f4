"""All text of a declaration, for rules that only some characters of it could be about."""

from __future__ import annotations

from typing import Any

from compiler.nodes import Mapping, Scalar

# The tree of the run at hand, and that of its first node; several rules look at each in turn.
_last: list[tuple[Mapping, list[str]]] = []


def texts(root: Mapping) -> list[str]:
    """All keys and values under a mapping, in no order; nobody may change the list."""
    for of, found in _last:
        if of is root:
            return found
    found = _texts(root)
    _last[:] = [*_last[-1:], (root, found)]
    return found


def _texts(root: Mapping) -> list[str]:
    found: list[str] = []
    rest: list[Any] = [root]
    while rest:
        node = rest.pop()
        if node.__class__ is Scalar:
            found.append(node)
        elif isinstance(node, Mapping):
            found += node
            rest += node.values()
        else:
            rest += node
    return found
