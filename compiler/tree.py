"""YAML text to nodes that know their places.

Built from libyaml's events with an own stack: faster than composing, safe from deep recursion,
and stopped as soon as a bound is passed. The loop in `_Reader.document` runs once per node of
every file, so whatever is rare (anchors, aliases, tags, doubled keys) is done outside of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import yaml
from msgspec.structs import replace
from yaml.cyaml import CParser  # pyright: ignore
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from compiler import layout, syntax
from compiler.diagnostics import Finding, Place, Related
from compiler.nodes import Mapping, Node, Scalar, Sequence
from compiler.rules import finding
from compiler.source import MOST, Source, quote

NODES = 20_000
"""Nodes that one file may have, with every alias counted as the nodes that it stands for."""

DEPTH = 64
"""Mappings and sequences within one another; libyaml itself gives up at 1,000."""

_TAG = re.compile(r"!<[^>\s]*>|![^\s,\[\]{}]*")


def read(source: Source, mapping: bool = True) -> tuple[Node | None, list[Finding]]:
    """The root of the file's one document, and what is wrong with the file.

    The root is None where going on would report the same mistake twice or guess what is meant.
    Otherwise the tree can be checked further, whether or not there are findings: of a doubled
    key the first value is kept, a tag is left out, a merge is done. With `mapping` (as for
    declarations and policy) anything but a mapping at the top is a finding.
    """
    reader = _Reader(source)
    try:
        root = reader.root()
    except _Stop:
        root = None
    except yaml.YAMLError as error:
        found = syntax.explain(source, error, DEPTH, reader.ended, reader.bracket())
        # `*.py text` is one mistake: an alias of nothing, and text after it.
        reader.findings = [one for one in reader.findings if not _same_line(one, found)]
        reader.findings.append(found)
        root = None
    else:
        root = reader.checked(root, mapping)
    return root, settle(reader.findings) if reader.findings else []


class _Stop(Exception):
    """A bound was passed; the finding is already there."""


class _Reader:
    """One run over the events of a file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.path = source.path
        self.findings: list[Finding] = []
        self.lost = False  # a part of the tree is missing: the rest would be misjudged
        self.whole = False  # the file was read to its end
        self.ended = False  # the last document was closed by `...`
        self.next: Any = CParser(source.text).get_event  # pyright: ignore
        self.anchors: dict[str, tuple[Node, int]] = {}
        # Around each open mapping or list: the items before it, itself, its anchor and number.
        self.stack: list[tuple[list[Any], Mapping | Sequence, tuple[str, int] | None]] = []

    def report(
        self,
        rule: str,
        place: Place,
        message: str,
        remedy: str,
        related: tuple[Related, ...] = (),
    ) -> None:
        self.findings.append(finding(rule, place, message, remedy, related))

    def bracket(self) -> Place | None:
        """Where the innermost bracket that is still open stands."""
        opened = [node for _, node, _ in self.stack if node.flow]
        return _start(opened[-1]) if opened else None

    def root(self) -> Node | None:
        """The root of the only document that holds anything."""
        root: Node | None = None
        while (event := self.next()) is not None:
            kind = event.__class__
            if kind is DocumentStartEvent:
                if root is not None:
                    if _is_nothing(self.next()):
                        continue
                    self._second_document(event, root)
                    return root
                if event.version or event.tags:
                    self._directives(event)
                root = self.document()
                if isinstance(root, Scalar) and root == "" and root.plain:
                    root = None
            elif kind is DocumentEndEvent:
                self.ended = event.explicit
        self.whole = True
        return root

    def checked(self, root: Node | None, mapping: bool) -> Node | None:
        """The root where the file holds what it should, else None."""
        if root is None:
            place = Place(self.path, 1, 1, 1, 1)
            self.report(
                "empty-file",
                place,
                "the file holds nothing but comments or space",
                layout.first_key(self.path),
            )
            return None
        if mapping and not isinstance(root, Mapping):
            kind = "a list" if isinstance(root, Sequence) else "text"
            message = f"the file holds {kind}, and a mapping, `key: value`, is wanted"
            self.report("top-level-not-mapping", _start(root), message, layout.first_key(self.path))
            return None
        if self.whole and "\t" in self.source.text:
            self.findings += layout.tabs(self.source)
        if not self.source.text.isascii() and (odd := layout.odd_spaces(self.source, root)):
            self.findings += odd
            return None
        return None if self.lost else root

    def document(self) -> Node:
        """The root of the document whose events come next; ends before its closing event."""
        next_event, path, count = self.next, self.path, 0
        stack = self.stack
        items: list[Any] = []
        aliased: tuple[list[Any], int, Any] = ([], 0, None)  # where the last alias went
        node: Any
        mark: Any
        while True:
            event = next_event()
            kind = event.__class__
            if kind is ScalarEvent:
                count += 1
                node = Scalar(event.value)
                mark = event.start_mark
                node.path = path
                node.line = mark.line + 1
                node.column = mark.column + 1
                mark = event.end_mark
                node.end_line = mark.line + 1
                node.end_column = mark.column + 1
                node.style = style = event.style
                if style == "|" or style == ">":
                    layout.end_block(self.source, node)
                if event.anchor or event.tag:
                    self._properties(event, node)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                count += 1
                if len(stack) >= DEPTH:
                    raise self._too_deep(event)
                node = Mapping() if kind is MappingStartEvent else Sequence()
                mark = event.start_mark
                node.path = path
                node.line = mark.line + 1
                node.column = mark.column + 1
                node.flow = event.flow_style
                anchored = None
                if event.anchor or event.tag:
                    self._properties(event, node)
                    anchored = (event.anchor, count) if event.anchor else None
                stack.append((items, node, anchored))
                items = []
                continue
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                outer, node, anchored = stack.pop()
                if kind is SequenceEndEvent:
                    node.extend(items)
                else:
                    keys = items[::2]
                    try:
                        node.update(zip(keys, items[1::2], strict=True))
                    except TypeError:  # a mapping or a sequence, which has no hash, as a key
                        node.clear()
                    if len(node) != len(keys) or "" in node or "<<" in node:
                        self._fill(node, keys, items[1::2])
                if node.flow or not items:
                    mark = event.end_mark
                    node.end_line, node.end_column = mark.line + 1, mark.column + 1
                elif items is aliased[0] and len(items) == aliased[1]:
                    mark = aliased[2]
                    node.end_line, node.end_column = mark.line + 1, mark.column + 1
                else:  # libyaml ends a block where the next token starts, lines later
                    last = items[-1]
                    node.end_line, node.end_column = last.end_line, last.end_column
                if anchored and self.anchors[anchored[0]][0] is node:
                    self.anchors[anchored[0]] = (node, count - anchored[1] + 1)
                items = outer
            else:
                assert kind is AliasEvent, kind
                node, size = self._alias(event, [entry[1] for entry in stack], len(items))
                count += size
                aliased = (items, len(items) + 1, event.end_mark)
            if count > NODES:
                raise self._too_many(event)
            items.append(node)
            if not stack:
                return node

    def _properties(self, event: Any, node: Any) -> None:
        """Remember an anchor, refuse a tag."""
        if event.anchor:
            self.anchors[event.anchor] = (node, 1)
        if event.tag:
            line = self.source.line_at(node.line)
            match = _TAG.search(line, node.column - 1)
            start, end = match.span() if match else (node.column - 1, node.column)
            place = Place(self.path, node.line, start + 1, node.line, end + 1)
            message = f"the tag {quote(line[start:end])} has no meaning here"
            remedy = "leave it out; text that must stay text can be put in quotes"
            self.report("yaml-tag", place, message, remedy)

    def _alias(self, event: Any, around: list[Any], index: int) -> tuple[Node, int]:
        """What an alias stands for, with its size; an empty node where it stands for nothing."""
        name = f"*{event.anchor}"
        node, size = self.anchors.get(event.anchor, (None, 1))
        if around and around[-1].__class__ is Mapping and index % 2 == 0:
            return self._blank(Mapping(), event), 1  # `_fill` refuses the key
        if node is None:
            message = f"{quote(name)} repeats a value that nothing before it in the file has named"
            anchor = quote(f"&{event.anchor}")
            remedy = f"name the value with {anchor}; text that starts with `*` needs quotes"
            self.report("syntax-error", layout.between(self.path, event), message, remedy)
        elif any(node is one for one in around):
            message = f"{quote(name)} stands inside the value that it repeats, so it has no end"
            related = (Related(_start(node), "this value would contain itself"),)
            place = layout.between(self.path, event)
            self.report("recursive-alias", place, message, "write the value out", related)
        elif len(around) + _height(node) > DEPTH:
            raise self._too_deep(event)
        else:
            return node, size
        self.lost = True
        return self._blank(Scalar(""), event), 1

    def _blank(self, node: Any, event: Any) -> Any:
        place = layout.between(self.path, event)
        node.path, node.line, node.column = place.path, place.line, place.column
        node.end_line, node.end_column = place.end_line, place.end_column
        if isinstance(node, Scalar):
            node.style = ""
        else:
            node.flow = True
        return node

    def _fill(self, node: Mapping, keys: list[Any], values: list[Any]) -> None:
        """Fill a mapping in which something may be wrong with a key."""
        node.clear()
        first: dict[str, Scalar] = {}
        merged: list[Mapping] = []
        for key, value in zip(keys, values, strict=True):
            if not isinstance(key, Scalar):
                self._not_text(key)
            elif key in first:
                message = f"the key {quote(key)} stands twice in one mapping"
                related = (Related(first[key].place, "it stands here first"),)
                remedy = "keep one of the two, or give one its right name"
                self.report("duplicate-key", key.place, message, remedy, related)
            elif key == "<<" and key.plain:
                message = "`<<` takes over the keys of another mapping, which is not supported"
                remedy = "write the keys out, or repeat a single value with `*name`"
                self.report("merge-key", key.place, message, remedy)
                first[key] = key
                merged += [one for one in _listed(value) if isinstance(one, Mapping)]
            elif key == "" and key.plain:
                message = "a value stands here without a key"
                self.report("unsupported-key", key.place, message, "write a key before the colon")
            else:
                first[key] = key
                node[key] = value
        for one in merged:
            for key, value in one.items():
                node.setdefault(key, value)

    def _not_text(self, key: Any) -> None:
        self.lost = True
        line = self.source.line_at(key.line)
        remedy = "write the key out; text that starts with `{`, `[` or `*` needs quotes"
        if line[key.column - 1 : key.column] == "*":
            kind = "an alias"
        else:
            kind = "a list" if isinstance(key, Sequence) else "a mapping"
        message = f"a key must be text, and this one is {kind}"
        if line[max(key.column - 2, 0) : key.column] == "{{":
            remedy = "fill in what the template leaves open in `{{ }}`, or put the text in quotes"
        self.report("unsupported-key", _start(key), message, remedy)

    def _directives(self, event: Any) -> None:
        """One finding for each directive before a document."""
        end = event.end_mark.line + 1
        for number in range(event.start_mark.line + 1, end + 1):
            line = self.source.line_at(number)
            if line.startswith("%"):
                self.findings.append(syntax.directive(self.path, number, line))

    def _second_document(self, event: Any, root: Node) -> None:
        """The file goes on after its document, behind a `---` (without one it is no YAML)."""
        mark = event.end_mark
        place = Place(self.path, mark.line + 1, mark.column - 2, mark.line + 1, mark.column + 1)
        message = "a second document starts here, and one file holds one"
        remedy = "move it to a file of its own, or delete the line `---`"
        related = (Related(_start(root), "the first document starts here"),)
        self.report("several-documents", place, message, remedy, related)

    def _too_many(self, event: Any) -> _Stop:
        message = f"the file holds more than {NODES:,} values, the most that are read of one file"
        remedy = "write less in one file"
        if event.__class__ is AliasEvent:
            message = f"written out, the aliases make more than {NODES:,} values"
            remedy = "write the values out instead of repeating lists of repetitions"
        self.report("too-many-nodes", layout.between(self.path, event), message, remedy)
        return _Stop()

    def _too_deep(self, event: Any) -> _Stop:
        self.findings.append(syntax.too_deep(layout.between(self.path, event), DEPTH))
        return _Stop()


def settle(findings: list[Finding]) -> list[Finding]:
    """The findings, of each rule at most `MOST`; the last one of more counts the rest."""
    groups: dict[str, list[Finding]] = {}
    for one in findings:
        groups.setdefault(one.rule, []).append(one)
    for group in groups.values():
        if rest := len(group[MOST:]):
            last = group[MOST - 1]
            more = f"{last.message} ({rest} more such places in this file are not listed)"
            group[MOST - 1 :] = [replace(last, message=more)]
    return [one for group in groups.values() for one in group]


def _same_line(one: Finding, other: Finding) -> bool:
    return one.rule == other.rule and one.place.line == other.place.line


def _is_nothing(event: Any) -> bool:
    """Whether a document is empty, as after a final `---`."""
    return (
        event.__class__ is ScalarEvent
        and event.value == ""
        and event.style == ""
        and not (event.anchor or event.tag)
    )


def _start(node: Any) -> Place:
    """The first line of a node, which may have many."""
    if node.__class__ is Scalar and node.line == node.end_line:
        return node.place
    return Place(node.path, node.line, node.column, node.line, node.column + 1)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, Sequence) else [value]  # type: ignore[return-value]


def _height(root: Node) -> int:
    """Levels of mappings and sequences in a node; its size is bounded already."""
    height = 0
    level: list[Node] = [root]
    while inner := [node for node in level if not isinstance(node, Scalar)]:
        height += 1
        level = [child for node in inner for child in _children(node)]
    return height


def _children(node: Mapping | Sequence) -> Iterable[Node]:
    return node.values() if isinstance(node, Mapping) else node
