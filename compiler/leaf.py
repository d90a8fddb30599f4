"""One value of an authored file set in its text: all other letters stay as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.nodes import Mapping, Node, Scalar, walk
from compiler.rewriting import line_starts
from compiler.source import Source, decode
from compiler.tree import read

Route = tuple[str, ...]


def with_leaves(source: Source, leaves: Sequence[tuple[Route, str]]) -> str | None:
    """The text with each value written at its route, one after the other.

    None where that cannot be done so that, read again, nothing else has changed: a value that an
    alias repeats, for one.
    """
    for route, value in leaves:
        after = _with_leaf(source, route, value)
        if after is None:
            return None
        source = after
    return source.text


def _with_leaf(source: Source, route: Route, value: str) -> Source | None:
    before, findings = read(source)
    if not isinstance(before, Mapping) or findings:
        return None
    for text in _candidates(source, before, route, value):
        after, _ = decode(source.path, text.encode())
        node, findings = read(after) if after is not None else (None, [])
        if after is None or node is None or findings:
            continue
        if _apart_from(node, route) == _apart_from(before, route) and route in dict(walk(node)):
            return after
    return None


def _apart_from(root: Node, route: Route) -> dict[object, str]:
    """Every scalar outside the route, with its letters and whether they are quoted."""
    return {
        at: f"{'plain' if node.plain else 'text'} {node}"
        for at, node in walk(root)
        if isinstance(node, Scalar) and at[: len(route)] != route
    }


def _candidates(source: Source, root: Mapping, route: Route, value: str) -> Iterator[str]:
    text, starts = source.text, line_starts(source.text)
    node: Node = root
    for depth, step in enumerate(route):
        if not isinstance(node, Mapping):
            return
        if step not in node:
            for inner in reversed(route[depth + 1 :]):
                value = f"{{{inner}: {value}}}"
            yield from _added(text, starts, node, f"{step}: {value}")
            return
        node = node[step]
    start = starts[node.line - 1] + node.column - 1
    end = starts[node.end_line - 1] + node.end_column - 1
    if isinstance(node, Scalar) and node.style not in ("|", ">"):
        yield text[:start] + (value if node or node.style else f" {value}") + text[end:]


def _added(text: str, starts: list[int], node: Mapping, entry: str) -> Iterator[str]:
    """The text with one more entry in a mapping: at its end, else at its beginning."""
    if node.flow:
        end = starts[node.end_line - 1] + node.end_column - 2
        rest = text[:end].rstrip()
        comma = "" if rest.endswith(("{", ",")) else ","
        yield f"{rest}{comma}{'' if rest.endswith('{') else ' '}{entry}{text[len(rest) :]}"
        brace = text.find("{", starts[node.line - 1] + node.column - 1) + 1
        yield f"{text[:brace]}{entry}, {text[brace:].lstrip()}"
        return
    first = next(iter(node), None)
    if not isinstance(first, Scalar):
        return
    line = text[starts[first.line - 1] :][: first.column - 1]
    newline = "\r\n" if "\r\n" in text else "\n"
    last = list(node.values())[-1]
    if last.end_line < len(starts):
        at = starts[last.end_line]
        yield f"{text[:at]}{line}{entry}{newline}{text[at:]}"
    else:
        yield f"{text}{newline}{line}{entry}{newline}"
    at = starts[first.line - 1]
    yield f"{text[:at]}{line}{entry}{newline}{text[at:]}"
