"""An image's arguments as its JSON Schema declares them, in the form in which jobs are judged.

A schema is a text of a pull request like any other: it is read within limits, names nothing outside
of itself, and has no power over how long a check takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

from compiler.arguments.limits import LONGEST, BadSchema, Json, keep_limits, resolved, shown
from compiler.arguments.sums import BadSum, Sum
from compiler.suggestions import nearest

DIALECT = "https://json-schema.org/draft/2020-12/schema"
OURS = "x-runwright"
KINDS = ("boolean", "integer", "number", "string", "array", "object", "null")
STYLES = ("value", "switch", "pair", "flag", "repeat", "words", "comma")
# What an argument may be to the estimate of memory.
ROLES = (
    *("model", "parameters", "layers", "width", "vocabulary", "sequence", "micro_batch"),
    *("precision", "sharding", "checkpointing", "tuning", "lora_rank"),
)
# Bounds, and the type that each must have itself.
_BOUNDS: dict[str, tuple[type, ...]] = {
    "minimum": (int, float),
    "maximum": (int, float),
    "exclusiveMinimum": (int, float),
    "exclusiveMaximum": (int, float),
    "multipleOf": (int, float),
    "minLength": (int,),
    "maxLength": (int,),
    "minItems": (int,),
    "maxItems": (int,),
}
# Said to people and tools, and no condition. A pattern is one that is left out: somebody else's
# regular expression can take for ever.
_SILENT = frozenset(
    {
        *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
        *("format", "pattern", "patternProperties", "contentEncoding", "contentMediaType"),
        *("$comment", "$schema", "$id", "$defs", "definitions"),
    }
)
_READ = frozenset(("type", "enum", "const", "items", "anyOf", "$ref", *_BOUNDS))
_READ_AT_TOP = frozenset(("type", "properties", "required", "additionalProperties"))
_OWN_AT_TOP = ("rules", "exclusive", "abbreviations", "file", "memory")


class Branch(Struct, frozen=True):
    """One of the forms that a value may have; `kind` is JSON's type, "any" where none is said."""

    kind: str
    choices: tuple[Any, ...] | None = None
    bounds: Mapping[str, int | float] = {}
    items: tuple[Branch, ...] = ()


class Property(Struct, frozen=True):
    """One argument: its name, its forms, its default, and how a command line spells it.

    `style` is one of "value" (`--name=value`), "switch" (`--name` for true, nothing for false),
    "pair" (`--name` or `--no-name`), "flag" (either of the two, or `--name=true`), "repeat"
    (`--name=a --name=b`), "words" (`--name a b`) and "comma" (`--name=a,b`).
    """

    name: str
    branches: tuple[Branch, ...]
    style: str = "value"
    required: bool = False
    default: Any = None

    def of(self, kind: str) -> Branch | None:
        """Its form of a kind, if it has one."""
        return next((branch for branch in self.branches if branch.kind == kind), None)


class Schema(Struct, frozen=True):
    """All arguments of an image, by name, and what must hold between them.

    `closed` says that there are no others. `file` is the argument that names a file with more of
    them. `whole` is the schema itself where it says more than
    this form can hold, else None: then the jsonschema library has the last word.
    """

    properties: Mapping[str, Property]
    spellings: Mapping[str, str]
    closed: bool = False
    abbreviations: bool = False
    file: str | None = None
    sums: tuple[Sum, ...] = ()
    exclusive: tuple[tuple[str, ...], ...] = ()
    memory: Mapping[str, Any] | None = None
    whole: Json | None = None

    def find(self, name: str) -> Property | None:
        """The argument of a name, with `-` and `_` taken for the same."""
        exact = self.properties.get(name)
        if exact is None and (other := self.spellings.get(name.replace("-", "_"))):
            return self.properties[other]
        return exact


def schema_of(content: bytes) -> Schema:
    """The schema in a file's bytes; raises BadSchema."""
    if len(content) > LONGEST:
        raise BadSchema(f"it is longer than {LONGEST // 1024} KiB", "declare fewer arguments")
    try:
        tree: Any = json.loads(content)
    except RecursionError:
        raise BadSchema("it is nested too deeply", "write a flat schema") from None
    except ValueError as error:
        raise BadSchema(f"it is no JSON: {error}", "write it with a tool, not by hand") from None
    if not isinstance(tree, dict):
        raise BadSchema("its top is no object", 'write {"type": "object", "properties": ...}')
    root = cast("dict[str, Any]", tree)
    keep_limits(root)
    dialect = root.get("$schema", DIALECT)
    if dialect != DIALECT:
        raise BadSchema(f"its dialect is {shown(dialect)}", f'write "$schema": "{DIALECT}"')
    if root.get("type", "object") != "object":
        raise BadSchema('its type is not "object"', 'write "type": "object" at its top')
    reader = _Reader(root)
    given = _mapping(root.get("properties", {}), "properties")
    required = _names(root.get("required", []), "required")
    properties = {
        name: reader.property(name, part, name in required) for name, part in given.items()
    }
    for name in required:
        if name not in properties:
            raise BadSchema(
                f"`required` names {shown(name)}, which it declares nowhere",
                "declare it under `properties`",
            )
    spellings: dict[str, str] = {}
    for name in properties:
        other = spellings.setdefault(name.replace("-", "_"), name)
        if other != name:
            raise BadSchema(f"{shown(name)} and {shown(other)} differ by `-` and `_` only")
    more = root.get("additionalProperties", True)
    extra = set(root) - _READ_AT_TOP - _SILENT - {OURS}
    if reader.more or extra or not isinstance(more, bool):
        from compiler.arguments.whole import vetted

        whole = vetted(root)
    else:
        whole = None
    own = _own(root, _OWN_AT_TOP)
    return Schema(
        properties,
        spellings,
        more is False,
        own.get("abbreviations") is True,
        _file(own.get("file"), properties),
        _sums(own.get("rules", []), properties),
        _exclusive(own.get("exclusive", []), properties),
        _memory(own.get("memory"), properties),
        whole,
    )


class _Reader:
    """Reads properties; `more` tells whether one says what `Branch` cannot hold."""

    def __init__(self, root: Json) -> None:
        self.root = root
        self.more = False

    def property(self, name: str, part: Any, required: bool) -> Property:
        if not name or name.startswith("-") or not name.isprintable() or set(name) & set(" ="):
            raise BadSchema(f"{shown(name)} cannot be the name of an argument")
        if isinstance(part, bool):
            part = {} if part else {"enum": []}
        fields = _mapping(part, name)
        branches = tuple(self.branches(fields, name))
        style = _own(fields, ("style",)).get("style")
        if style is None:
            style = "repeat" if any(branch.kind == "array" for branch in branches) else "value"
        if style not in STYLES:
            raise _choice("style", style, STYLES, name)
        if style in ("switch", "pair", "flag") and {branch.kind for branch in branches} - {
            "null"
        } != {"boolean"}:
            raise BadSchema(f"`{name}` has the style {style}, and is not boolean")
        return Property(name, branches, style, required, fields.get("default"))

    def branches(self, part: Json, where: str) -> Iterator[Branch]:
        """The forms of a part: references followed, alternatives side by side."""
        if not set(part) <= _READ | _SILENT | {OURS}:
            self.more = True
        if "$ref" in part:
            rest = {key: value for key, value in part.items() if key != "$ref"}
            part = {**self.referred(part["$ref"], where), **rest}
            yield from self.branches(part, where)
            return
        if "anyOf" in part:
            options = part["anyOf"]
            if not isinstance(options, list) or not options:
                raise BadSchema(f"`anyOf` of `{where}` is no list of schemas")
            rest = {key: value for key, value in part.items() if key != "anyOf"}
            for option in cast("list[Any]", options):
                if isinstance(option, bool):
                    option = cast("Json", {} if option else {"enum": []})
                yield from self.branches({**rest, **_mapping(option, where)}, where)
            return
        kinds = part.get("type")
        if isinstance(kinds, str):
            kinds = [kinds]
        choices: Any = [part["const"]] if "const" in part else part.get("enum")
        if choices is not None and not isinstance(choices, list):
            raise BadSchema(f"`enum` of `{where}` is no list")
        if kinds is None:
            listed = cast("list[Any]", choices or [])
            kinds = sorted({_kind(item) for item in listed}) if listed else ["any"]
        elif not isinstance(kinds, list) or not kinds:
            raise _choice("type", kinds, KINDS, where)
        for kind in cast("list[Any]", kinds):
            if kind != "any" and kind not in KINDS:
                raise _choice("type", kind, KINDS, where)
            items: tuple[Branch, ...] = ()
            if kind == "array" and not isinstance(part.get("items", True), bool):
                items = tuple(self.branches(_mapping(part["items"], where), f"{where}[]"))
            yield Branch(
                kind,
                None if choices is None else tuple(cast("list[Any]", choices)),
                dict(self.bounds(part, where)),
                items,
            )

    def bounds(self, part: Json, where: str) -> Iterator[tuple[str, int | float]]:
        for name, kinds in _BOUNDS.items():
            if name not in part:
                continue
            value = part[name]
            if isinstance(value, bool) or not isinstance(value, kinds) or value != value:
                raise BadSchema(f"`{name}` of `{where}` is {shown(value)}, which is no number")
            if name == "multipleOf" and value <= 0:
                raise BadSchema(f"`multipleOf` of `{where}` is {shown(value)}")
            yield name, value

    def referred(self, reference: Any, where: str) -> Json:
        """What a reference names; they go round in no circle (see `keep_limits`)."""
        found = resolved(self.root, reference, where)
        if "$ref" in found:
            rest = {key: value for key, value in found.items() if key != "$ref"}
            return {**self.referred(found["$ref"], where), **rest}
        return found


def _own(part: Json, known: tuple[str, ...]) -> Json:
    own = _mapping(part.get(OURS, {}), OURS)
    for name in own:
        if name not in known:
            near = nearest(name, known)
            words = f"write `{near}`" if near else "write one of: " + ", ".join(known)
            raise BadSchema(f"{OURS} has no `{name}`", words)
    return own


def _sums(rows: Any, properties: Mapping[str, Property]) -> tuple[Sum, ...]:
    if not isinstance(rows, list):
        raise BadSchema(f"`rules` of {OURS} is no list")
    found: list[Sum] = []
    for row in cast("list[Any]", rows):
        try:
            found.append(Sum.read(row, properties))
        except BadSum as error:
            raise BadSchema(f"a rule of {OURS}: {error}", "see docs/arguments.md") from None
    return tuple(found)


def _exclusive(rows: Any, properties: Mapping[str, Property]) -> tuple[tuple[str, ...], ...]:
    if not isinstance(rows, list):
        raise BadSchema(f"`exclusive` of {OURS} is no list")
    found = tuple(tuple(_names(row, "exclusive")) for row in cast("list[Any]", rows))
    for name in {name for row in found for name in row} - set(properties):
        raise BadSchema(f"`exclusive` of {OURS} names {shown(name)}, which it declares nowhere")
    return found


def _file(name: Any, properties: Mapping[str, Property]) -> str | None:
    if name is not None and (not isinstance(name, str) or name not in properties):
        raise BadSchema(f"`file` of {OURS} is {shown(name)}, which it declares nowhere")
    return name


def _memory(given: Any, properties: Mapping[str, Property]) -> Json | None:
    if given is None:
        return None
    own = _mapping(given, "memory")
    for role, name in own.items():
        if role not in ROLES:
            raise _choice("memory", role, ROLES, OURS)
        if not isinstance(name, str) or name not in properties:
            raise BadSchema(f"`memory` of {OURS} names {shown(name)}, which it declares nowhere")
    return own


def _mapping(value: Any, where: str) -> Json:
    if not isinstance(value, dict):
        raise BadSchema(f"`{where}` is {shown(value)}, and should be an object")
    return cast("Json", value)


def _names(value: Any, where: str) -> list[str]:
    if not isinstance(value, list) or not all(
        isinstance(item, str) for item in cast("list[Any]", value)
    ):
        raise BadSchema(f"`{where}` is no list of names")
    return cast("list[str]", value)


def _choice(what: str, value: Any, known: tuple[str, ...], where: str) -> BadSchema:
    return BadSchema(
        f"`{what}` of `{where}` is {shown(value)}", "write one of: " + ", ".join(known)
    )


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return {str: "string", list: "array", dict: "object", type(None): "null"}[type(value)]
