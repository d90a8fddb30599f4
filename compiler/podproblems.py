"""What is wrong with the shape of a `pod:` fragment, in our words and at its nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic_core import PydanticCustomError

from compiler import quantity
from compiler.merge import LIST_KEYS, chosen, key_of
from compiler.model import Route
from compiler.nodes import Mapping, Node, Scalar, Sequence, descend
from compiler.passthrough import (
    Object,
    Violation,
    inside,
    listed,
    mapped,
    resolved,
    schema,
    standing,
    typed,
    violations,
)
from compiler.rules import Report
from compiler.scalars import cpu, flag, shown, size, text, whole_number
from compiler.suggestions import any_of, nearest

# Fields of the objects around a pod template, and where a declaration says the same.
JOB_FIELDS: dict[str, str] = {
    "activeDeadlineSeconds": "write max_duration: 24h at the top of the job instead",
    "backoffLimit": "write retry: {max: 3} at the top of the job instead",
    "backoffLimitPerIndex": "write retry: {max: 3} at the top of the job instead",
    "cleanPodPolicy": "take it out: the pods of a finished run always end with it",
    "completionMode": "take it out",
    "completions": "write num_nodes: 4 at the top of the job instead",
    "elasticPolicy": "write num_nodes: {min: 2, max: 4} at the top of the job instead",
    "managedBy": "take it out",
    "manualSelector": "take it out",
    "maxFailedIndexes": "take it out",
    "maxReplicas": "write num_nodes: {min: 2, max: 4} at the top of the job instead",
    "minReplicas": "write num_nodes: {min: 2, max: 4} at the top of the job instead",
    "nprocPerNode": "take it out: the processes of a node follow from `accelerators`",
    "parallelism": "write num_nodes: 4 at the top of the job instead",
    "podFailurePolicy": "write retry: {max: 3} at the top of the job instead",
    "podReplacementPolicy": "take it out",
    "pytorchReplicaSpecs": "write what differs on the first node under `master:` instead",
    "replicas": "write num_nodes: 4 at the top of the job instead",
    "restartPolicy": "write retry: {max: 3} at the top of the job instead",
    "runPolicy": "write retry and max_duration at the top of the job instead",
    "schedulingPolicy": "write queue and priority at the top of the job instead",
    "selector": "take it out",
    "successPolicy": "take it out",
    "suspend": "write state: stopped at the top of the job to stop its run",
    "ttlSecondsAfterFinished": (
        "take it out: under GitOps an object that removes itself is made again, and trains again"
    ),
}
_AROUND = frozenset({"PodTemplateSpec", "PodSpec", "TemplateMetadata"})
_MEMORY = re.compile(r"memory|(?:requests\.)?(?:ephemeral-)?storage|sizeLimit|hugepages-.*")
_WORDS = {
    "EnvVar": "environment variable",
    "PersistentVolumeClaimVolumeSource": "persistent volume claim",
    "PodTemplateSpec": "pod template",
}
_WANTED = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "object": "a mapping (key: value)",
    "string": "text",
}


def job_field(violation: Violation) -> str | None:
    """The field of a job that an unknown field of a fragment is, or None."""
    if violation.kind != "additionalProperties" or violation.owner not in _AROUND:
        return None
    plain = _squeezed(violation.name)
    return next((name for name in JOB_FIELDS if _squeezed(name) == plain), None)


def problems(pod: Node, at: Route, below: Object) -> Iterator[Report]:
    """Each mistake in the shape of a fragment, once; fields of a job are left to their own rule.

    `at` is the fragment's route, `below` the template that it will be merged over: what that
    has, an item of the fragment need not say again.
    """
    data = typed(pod)
    found = [*violations(data), *_unnamed_images(data, below)]
    meant = {
        (violation.route[:-1], _nearest(violation))
        for violation in found
        if violation.kind == "additionalProperties"
    }
    for violation in found:
        route = (*at, *violation.route)
        if violation.kind == "required":
            known = standing(below, data, violation.route)
            said = isinstance(known, dict) and violation.name in known
            if not said and (violation.route, violation.name) not in meant:
                yield _missing(pod, at, violation)
        elif violation.kind == "additionalProperties":
            if job_field(violation) is None:
                yield Report(route, *_unknown(violation), key=True)
        else:
            node, _ = descend(pod, violation.route)
            yield Report(route, *_refused(node, violation))
    taken = {violation.route for violation in found}
    for report in _beyond(pod, data, ()):
        if report.route not in taken:
            related = tuple(
                ((*at, *where) if isinstance(where, tuple) else where, note)
                for where, note in report.related
            )
            yield Report((*at, *report.route), report.message, report.help, related, report.key)


def _squeezed(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _words(owner: str) -> str:
    """A Kubernetes type in words: `HostPathVolumeSource` is "a host path volume"."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*", owner.removesuffix("Source"))
    words = " ".join(part if part.isupper() and len(part) > 1 else part.lower() for part in parts)
    words = _WORDS.get(owner, words)
    # An acronym is read by its letters: an NFS volume, a CSI volume.
    vowels = "AEFHILMNORSX" if words[:2].isupper() else "aeiou"
    return f"an {words}" if words[0] in vowels else f"a {words}"


def _nearest(violation: Violation) -> str | None:
    known = {_squeezed(name): name for name in violation.wanted}
    near = nearest(_squeezed(violation.name), known, 0.75)
    return known[near] if near is not None else None


def _unknown(violation: Violation) -> tuple[str, str]:
    owner, name = violation.owner, violation.name
    words = _words(owner)
    message = f"{words} has no field `{name}`"
    if owner == "TemplateMetadata":
        message = f"`{name}` is not passed on: pods take labels and annotations from their template"
    elif owner == "PodTemplateSpec" and name == "template":
        return message, "take `template:` out: `pod:` is the template itself"
    elif name in ("labels", "annotations"):
        return message, f"write it under `pod:`, as metadata: {{{name}: ...}}"
    deeper = _deeper(owner, name)
    if deeper is not None:
        return message, f"write it under `{deeper}:`"
    near = _nearest(violation)
    if near is not None:
        return message, f"write `{near}`"
    return message, any_of(violation.wanted, 12)


def _deeper(owner: str, name: str) -> str | None:
    """The field of `owner` that has a field `name`, where there is just one to think of."""
    for many in (False, True):
        holders = [
            field
            for field, part in schema()["$defs"][owner]["properties"].items()
            if name in _fields(resolved(part), many)
        ]
        if "containers" in holders:
            return "containers"
        if len(holders) == 1:
            return holders[0]
    return None


def _fields(part: Object, many: bool) -> Object:
    holder = inside(part, 0) if many else part
    return (holder or {}).get("properties", {})


def _missing(pod: Node, at: Route, violation: Violation) -> Report:
    route = (*at, *violation.route)
    message = f"{_words(violation.owner)} needs the field `{violation.name}`"
    remedy = f"add `{violation.name}:` here"
    node, _ = descend(pod, violation.route)
    if isinstance(node, Mapping) and node and not node.flow:
        # The first key is a better anchor than a block that spans half the file.
        return Report((*route, str(next(iter(node)))), message, remedy, key=True)
    return Report(route, message, remedy)


def _refused(node: Node, violation: Violation) -> tuple[str, str]:
    kind, wanted = violation.kind, violation.wanted
    if kind == "type":
        return _mistyped(node, wanted, violation.route[-1] if violation.route else None)
    if kind == "enum":
        near = next((c for c in wanted if c.lower() == str(node).lower()), None)
        near = near or nearest(str(node), wanted)
        choices = ", ".join(choice or '""' for choice in wanted)
        return f"{shown(node)} is not one of: {choices}", f"write {near or 'one of them'}"
    if kind == "pattern":
        return _misread(node, violation.route)
    low, high = wanted["minimum"], wanted["maximum"]
    return (
        f"{shown(node)} is out of range: {low} to {high} is possible",
        f"write a whole number from {low} to {high}",
    )


def _mistyped(node: Node, wanted: Any, field: object) -> tuple[str, str]:
    words = "a number or a name" if isinstance(wanted, list) else _WANTED[wanted]
    if isinstance(node, Scalar) and node.empty and wanted in ("object", "array"):
        nothing = "{}" if wanted == "object" else "[]"
        return (
            f"there is no value here, where {words} is wanted",
            f"write the value, or {nothing} for an empty one, or leave the key out",
        )
    if field in ("mode", "defaultMode") and (octal := re.fullmatch(r"0o?([0-7]{3,4})", str(node))):
        return (
            f"{shown(node)} is not {words}: file modes are decimal here",
            f"write {int(octal[1], 8)}",
        )
    try:
        if wanted == "integer":
            whole_number(-(2**63), 2**63 - 1)(node)
        elif wanted == "boolean":
            flag(node)
        elif wanted != "object" and wanted != "array":
            text(node)
    except PydanticCustomError as error:
        told = error.context or {}
        return told["message"], told["help"]
    return f"{shown(node)} stands where {words} is wanted", f"write {words}"


def _misread(node: Node, route: Route) -> tuple[str, str]:
    name = str(route[-1])
    try:
        if _MEMORY.fullmatch(name):
            size(node)
        elif name == "cpu":
            cpu(node)
    except PydanticCustomError as error:
        told = error.context or {}
        return told["message"], told["help"]
    return f"{shown(node)} is not a quantity", "write a number, with a unit where it has one: 2Gi"


def _unnamed_images(data: Any, below: Object) -> Iterator[Violation]:
    """New containers without an image: the API lets them pass, the operator's webhook does not."""
    spec = mapped(mapped(data).get("spec"))
    for field in ("initContainers", "containers"):
        for index, container in enumerate(listed(spec.get(field))):
            if "name" in mapped(container) and "image" not in container:
                yield Violation("required", ("spec", field, index), "Container", "image", None)


def _beyond(node: Node, data: Any, route: Route) -> Iterator[Report]:
    """What the schema cannot say: items that collide, choices made twice, amounts without sense."""
    field = next((step for step in reversed(route) if isinstance(step, str)), "")
    if isinstance(node, Sequence):
        if field in LIST_KEYS:
            yield from _doubles(node, data, field, route)
        for index, item in enumerate(node):
            yield from _beyond(item, data[index], (*route, index))
    elif isinstance(node, Mapping):
        choice = chosen(node, field)
        if len(choice) > 1:
            yield Report(
                (*route, choice[1]),
                f"`{choice[1]}` and `{choice[0]}` exclude each other",
                "keep one of the two",
                (((*route, choice[0]), "the other one"),),
                key=True,
            )
        for key, value in node.items():
            yield from _beyond(value, data[str(key)], (*route, str(key)))
    elif route and not node.empty:
        yield from _amount(node, route)


def _doubles(node: Sequence, data: Any, field: str, route: Route) -> Iterator[Report]:
    first: dict[tuple[str, ...], int] = {}
    name = LIST_KEYS[field][0]
    for index, item in enumerate(data):
        if not isinstance(item, dict) or name not in item:
            continue
        key = key_of(item, field)
        if key in first:
            yield Report(
                (*route, index, name),
                f"{shown(node[index][name])} is listed twice under `{field}`",  # type: ignore[index,call-overload]
                "put what both say into one item",
                (((*route, first[key], name), "the first one"),),
            )
        first.setdefault(key, index)


def _amount(node: Scalar, route: Route) -> Iterator[Report]:
    part: Object | None = resolved(schema())
    for step in route:
        part = inside(part, step)
    if part is None or "pattern" not in part:
        return
    name = str(route[-1])
    amount = quantity.parse(str(node))
    if _MEMORY.fullmatch(name) and amount is not None:
        try:
            size(node)
        except PydanticCustomError as error:
            told = error.context or {}
            if told["rule"] == "memory-in-milli":
                yield Report(route, told["message"], told["help"])
    elif "/" in name and amount is not None and amount.value.denominator != 1:
        yield Report(
            route, f"{shown(node)} is a part of a device: `{name}` is counted whole", "write 1"
        )
