"""`pod:`, the part of a Kubernetes pod template that a declaration passes on as it is.

The schema (`compiler/data/podtemplate.json`, made by tools/podschema.py) says what each field
holds, so text keeps its letters and numbers are numbers. Problems come from the jsonschema library
and are told in our words at the nodes they are about. Nothing here costs a job without `pod:`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from compiler.merge import LIST_KEYS, key_of, merge
from compiler.model import Member, Route, Run
from compiler.nodes import Mapping, Scalar, Sequence

CONTAINER = "pytorch"
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a mount path of the pod
SCHEMA = Path(__file__).parent / "data" / "podtemplate.json"
Object = dict[str, Any]

_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")


class Violation(Struct, frozen=True):
    """One thing that the schema does not allow: where in the fragment, and what it wants there.

    `kind` is jsonschema's keyword; `name` is the field that is unknown or missing; `owner` is the
    Kubernetes type around it.
    """

    kind: str
    route: Route
    owner: str
    name: str
    wanted: Any


@cache
def schema() -> Object:
    """The JSON Schema of a pod template."""
    return json.loads(SCHEMA.read_text("utf-8"))


def resolved(part: Object) -> Object:
    """A part of the schema with its reference followed."""
    while "$ref" in part:
        part = schema()["$defs"][part["$ref"].rpartition("/")[2]]
    return part


def inside(part: Object | None, step: str | int) -> Object | None:
    """The schema of a field or an item within a part of the schema; None where it knows none."""
    if part is None:
        return None
    if isinstance(step, int):
        found = part.get("items")
    else:
        found = part.get("properties", {}).get(step) or part.get("additionalProperties")
    return resolved(mapped(found)) if isinstance(found, dict) else None


def typed(node: Any) -> Any:
    """A fragment as plain data, each scalar as its field's type wants it.

    Text and quantities keep their letters. What does not fit its field stays text (or None where
    nothing is written), which the schema then refuses.
    """
    return _typed(node, resolved(schema()))


def _typed(node: Any, part: Object | None) -> Any:
    if isinstance(node, Mapping):
        return {str(key): _typed(value, inside(part, str(key))) for key, value in node.items()}
    if isinstance(node, Sequence):
        items = inside(part, 0)
        return [_typed(item, items) for item in node]
    if not isinstance(node, Scalar):
        return node
    if node.empty:
        return None
    wanted = part.get("type") if part is not None else None
    if not node.plain or wanted == "string":
        return str(node)
    if wanted == "boolean" and node in ("true", "false"):
        return node == "true"
    if (wanted == "integer" or isinstance(wanted, list)) and _WHOLE.fullmatch(node):
        return int(node)
    return str(node)


def fits(data: Any, part: Object) -> bool:
    """Whether data is as a part of the schema wants it, by the few keywords that ours has.

    The library gives the same answer, with its reasons, a hundred times more slowly; most
    fragments are right, and then nobody asks for reasons.
    """
    part = resolved(part)
    if isinstance(data, dict):
        fields: Object = mapped(data)
        known: Object = part.get("properties", {})
        more = part.get("additionalProperties")
        return (
            part.get("type") == "object"
            and all(name in fields for name in part.get("required", ()))
            and all(
                fits(value, known[name])
                if name in known
                else isinstance(more, dict) and fits(value, mapped(more))
                for name, value in fields.items()
            )
        )
    if isinstance(data, list):
        return part.get("type") == "array" and all(fits(v, part["items"]) for v in listed(data))
    wanted = part.get("type")
    if isinstance(data, str):
        return (
            (wanted == "string" or isinstance(wanted, list))
            and data in part.get("enum", (data,))
            and ("pattern" not in part or re.search(part["pattern"], data) is not None)
        )
    if isinstance(data, bool):
        return wanted == "boolean"
    return (
        isinstance(data, int)
        and (wanted == "integer" or isinstance(wanted, list))
        and part.get("minimum", data) <= data <= part.get("maximum", data)
    )


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema())


def violations(data: Any) -> tuple[Violation, ...]:
    """What the schema does not allow in a fragment, in the order of the fragment's fields.

    Fields that must be there are demanded of the fragment alone; see `standing`.
    """
    return () if fits(data, schema()) else _violations(json.dumps(data))


# The jobs of a team often share a fragment that stands in the team's defaults.
@lru_cache(maxsize=256)
def _violations(text: str) -> tuple[Violation, ...]:
    found: list[Violation] = []
    for error in _validator().iter_errors(json.loads(text)):
        route: Route = tuple(error.absolute_path)
        kind = str(error.validator)
        owner = str(error.schema.get("title", ""))
        if kind == "additionalProperties":
            known = sorted(error.schema["properties"])
            unknown = [name for name in error.instance if name not in error.schema["properties"]]
            found += [Violation(kind, (*route, name), owner, name, known) for name in unknown]
        elif kind == "required":
            # One error a name, and none says which: the first not yet told of this mapping.
            told = {v.name for v in found if v.kind == kind and v.route == route}
            untold = (n for n in error.validator_value if n not in error.instance and n not in told)
            found.append(Violation(kind, route, owner, next(untold), None))
        else:
            wanted = error.schema if kind in ("minimum", "maximum") else error.validator_value
            found.append(Violation(kind, route, owner, "", wanted))
    return tuple(found)


def standing(below: Any, data: Any, route: Route) -> Any:
    """What the template has where the fragment's `route` merges into it; None where nothing is."""
    field = ""
    for step in route:
        data = data[step]
        if isinstance(step, str):
            below = mapped(below).get(step)
            field = step
        elif field in LIST_KEYS:
            key = key_of(data, field)
            below = next((item for item in listed(below) if key_of(item, field) == key), None)
        else:
            below = None
    return below


def over(pod: Any, template: Object) -> Object:
    """The template with a fragment merged over it by the lists' keys.

    The training container stays the first one (where `kubectl logs` looks), and a volume of ours
    that the fragment leaves without a mount goes.
    """
    data = typed(pod)
    merged: Object = merge(data, template)
    spec = mapped(merged.get("spec"))
    every = items(spec, "containers")
    if any(item.get("name") == CONTAINER for item in every[1:]):
        spec["containers"] = sorted(every, key=lambda item: item.get("name") != CONTAINER)
    kept = {volume.get("name") for volume in items(data.get("spec"), "volumes")}
    ours = {volume.get("name") for volume in items(template.get("spec"), "volumes")} - kept
    used = {
        use.get("name")
        for field in ("containers", "initContainers")
        for container in items(spec, field)
        for list_name in ("volumeMounts", "volumeDevices")
        for use in items(container, list_name)
    }
    if ours - used:
        volumes = [v for v in items(spec, "volumes") if v.get("name") not in ours - used]
        spec["volumes"] = volumes
        if not volumes:
            del spec["volumes"]
    return merged


def mapped(value: Any) -> Object:
    """A value that is a mapping; an empty one for anything else a malformed fragment has there."""
    return value if isinstance(value, dict) else {}  # type: ignore[return-value]


def listed(value: Any) -> list[Any]:
    """A value that is a list; an empty one for anything else a malformed fragment has there."""
    return value if isinstance(value, list) else []  # type: ignore[return-value]


def items(parent: Any, field: str) -> list[Object]:
    """The mappings in the list under a field."""
    return [mapped(item) for item in listed(mapped(parent).get(field)) if isinstance(item, dict)]


def places(parent: Any, field: str, at: Route) -> Iterator[tuple[Route, Mapping]]:
    """Each mapping in a list under `field` of a node, with its route."""
    for index, item in enumerate(listed(mapped(parent).get(field))):
        if isinstance(item, Mapping):
            yield (*at, field, index), item


def fragments(run: Run) -> Iterator[tuple[Member, Route, Mapping]]:
    """The members of a run that have a `pod:`, with its route and its node."""
    for member in run.members:
        if isinstance(member.pod, Mapping) and member.pod:
            yield member, run.routes(member, "pod"), member.pod
