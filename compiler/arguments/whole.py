"""What a schema says beyond types and ranges of single arguments, by the jsonschema library.

The library takes longer to load than a check of many jobs, so only a schema that needs it loads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from compiler.arguments.limits import BadSchema, Json

# Other people's regular expressions are not tried: one can take for ever.
_LEFT_OUT = ("pattern", "patternProperties", "format")
_SHOWN = 3


def vetted(root: Json) -> Json:
    """The schema without its patterns, found to be one; raises BadSchema."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    plain = _without_patterns(root)
    try:
        Draft202012Validator.check_schema(plain)
    except (SchemaError, RecursionError) as error:
        reason = getattr(error, "message", "it is nested too deeply")
        raise BadSchema(f"it is no JSON Schema: {reason}", "see docs/arguments.md") from None
    return plain


def problems(root: Json, values: Mapping[str, Any]) -> Iterator[tuple[str | None, str]]:
    """The argument (None: all together) and the reason of each thing that the schema refuses."""
    validator = _validator(root)
    told: set[str | None] = set()
    for error in validator.iter_errors(dict(values)):
        path = list(error.absolute_path)
        if not path and error.validator in ("required", "additionalProperties"):
            # Said better elsewhere.
            continue
        name = str(path[0]) if path else None
        if name in told or len(told) >= _SHOWN:
            continue
        told.add(name)
        yield name, str(error.message)[:200]


_validators: dict[int, tuple[Json, Any]] = {}


def _validator(root: Json) -> Any:
    known = _validators.get(id(root))
    if known is not None and known[0] is root:
        return known[1]
    from jsonschema import Draft202012Validator

    if len(_validators) > 32:
        _validators.clear()
    _validators[id(root)] = root, Draft202012Validator(cast("Any", root))
    return _validators[id(root)][1]


def _without_patterns(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_patterns(item) for item in cast("list[Any]", node)]
    if isinstance(node, dict):
        fields = cast("dict[str, Any]", node)
        return {
            key: _without_patterns(value)
            for key, value in fields.items()
            # `pattern` may also be the name of an argument, whose value is a schema.
            if key not in _LEFT_OUT or (key != "patternProperties" and isinstance(value, dict))
        }
    return node
