"""Kubernetes objects from YAML text, read as the API server's own reader would.

Neither YAML 1.1 as PyYAML has it nor 1.2: sigs.k8s.io/yaml turns text into JSON by the rules of
go-yaml. There `1e-05` is a number (PyYAML: text), `y` is true, `0o17` is 15, `08` is 8 and a date
is text. What goes beyond an int64 is rounded to a float.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import isinf
from typing import Any

import yaml
from yaml import cyaml

_TRUE = frozenset(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
_FALSE = frozenset(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_INFINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INTEGER = re.compile(
    r"([-+]?)(?:0[bB](?P<two>[01]+)|0[oO]?(?P<eight>[0-7]+)|0[xX](?P<sixteen>[0-9a-fA-F]+)"
    r"|(?P<ten>0|[1-9][0-9]*))"
)
_BASES = {"two": 2, "eight": 8, "sixteen": 16, "ten": 10}
_TEXT = "tag:yaml.org,2002:str"

# PyYAML ships no types for its binding of libyaml.
_Parser: Any = getattr(cyaml, "CParser")  # noqa: B009


class Unreadable(ValueError):
    """The text is not what an API server would take for objects; the message says where."""


class _Composer(_Parser):
    """libyaml's composer with the resolver left out: tags are decided here, and only once."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> None:
        """No tag: None marks what the text itself leaves open."""

    def descend_resolver(self, current_node: Any, current_index: Any) -> None:
        """Nothing to follow."""

    def ascend_resolver(self) -> None:
        """Nothing to follow."""


def parse(text: str) -> list[dict[str, Any]]:
    """The objects in a stream of documents, as plain JSON-like data; empty documents are skipped.

    Raises Unreadable for broken YAML, a document that is no mapping, a key that is no text, a
    tag, and the infinities, which JSON does not have.
    """
    objects: list[dict[str, Any]] = []
    try:
        composer = _Composer(text)
        while composer.check_node():
            document = _plain(composer.get_node())
            if isinstance(document, dict):
                objects.append(document)  # type: ignore[arg-type]
            elif document is not None:
                raise Unreadable(f"document {len(objects) + 1} is not an object")
    except yaml.YAMLError as error:
        raise Unreadable(" ".join(str(error).split())) from None
    return objects


def _plain(node: Any) -> Any:
    kind = node.__class__
    if kind is yaml.ScalarNode:
        if node.tag is not None and node.tag != _TEXT:
            raise Unreadable(f"line {node.start_mark.line + 1} has the tag {node.tag}")
        return node.value if node.tag or node.style else resolve(node.value)
    if node.tag is not None:
        raise Unreadable(f"line {node.start_mark.line + 1} has the tag {node.tag}")
    if kind is yaml.MappingNode:
        return {_key(key): _plain(value) for key, value in node.value}
    return [_plain(item) for item in node.value]


def _key(node: Any) -> str:
    if node.__class__ is not yaml.ScalarNode:
        raise Unreadable(f"line {node.start_mark.line + 1} has a key that is no text")
    return node.value


@lru_cache(maxsize=65536)
def resolve(text: str) -> str | int | float | bool | None:
    """What a plain scalar stands for to Kubernetes.

    Raises Unreadable for `.inf` and `.nan`, which Kubernetes refuses.
    """
    if text in _NULL:
        return None
    first = text[0]
    if first.isdigit() or first in "+-.":
        return _number(text)
    if text in _TRUE:
        return True
    return False if text in _FALSE else text


def _number(text: str) -> str | int | float:
    if _INFINITE.fullmatch(text):
        raise Unreadable(f"{text} is no number that JSON has")
    digits = text.replace("_", "")
    if found := _INTEGER.fullmatch(digits):
        base = found.lastgroup or "ten"
        value = int(found[base], _BASES[base])
        value = -value if found[1] == "-" else value
        if -(2**63) <= value < 2**63:
            return value
        # What an int64 does not hold, Kubernetes reads as a float.
        try:
            return float(value)
        except OverflowError:
            return text
    if _FLOAT.fullmatch(digits):
        value = float(digits)
        if isinf(value):
            # Beyond every float it is text to Go: a digest may look so, as `96e9207379319531`.
            return text
        # JSON has one kind of number: Go writes a whole float without a point.
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return text
