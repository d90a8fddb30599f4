"""Whether the object of a base has the shape that Kubernetes' own types have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from compiler.backends import Target
from compiler.passthrough import Violation, violations
from compiler.source import quote
from compiler.suggestions import choose

Route = tuple[str | int, ...]
KEY = "[key]"

_WANTED = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "object": "a mapping (key: value)",
    "string": "text",
}
# What the run brings where the base has nothing.
_FROM_THE_RUN = {("PodSpec", "containers"), ("PodTemplateSpec", "spec")}

# Fields of the object itself: k8s.io/apimachinery ObjectMeta, k8s.io/api batch/v1 JobSpec, and
# kubeflow/training-operator 1.9 pkg/apis/kubeflow.org/v1 (common_types.go, pytorch_types.go). The
# API server drops a field that it does not know, or refuses the object.
_METADATA = (
    "name generateName namespace labels annotations finalizers ownerReferences uid selfLink"
    " resourceVersion generation creationTimestamp deletionTimestamp deletionGracePeriodSeconds"
    " managedFields"
)
_RUN_POLICY = (
    "cleanPodPolicy ttlSecondsAfterFinished activeDeadlineSeconds backoffLimit schedulingPolicy"
    " suspend managedBy"
)
_JOB = (
    "activeDeadlineSeconds backoffLimit backoffLimitPerIndex completionMode completions managedBy"
    " manualSelector maxFailedIndexes parallelism podFailurePolicy podReplacementPolicy selector"
    " successPolicy suspend template ttlSecondsAfterFinished"
)
_ROLES = ("spec", "pytorchReplicaSpecs")
_KNOWN: dict[str, dict[Route, str]] = {
    "Job": {("spec",): _JOB},
    "PyTorchJob": {
        ("spec",): "runPolicy elasticPolicy pytorchReplicaSpecs nprocPerNode",
        ("spec", "runPolicy"): _RUN_POLICY,
        ("spec", "runPolicy", "schedulingPolicy"): (
            "minAvailable queue minResources priorityClass scheduleTimeoutSeconds"
        ),
        (*_ROLES, "Master"): "replicas template restartPolicy",
        (*_ROLES, "Worker"): "replicas template restartPolicy",
    },
}
_EVERY: dict[Route, str] = {
    (): "apiVersion kind metadata spec status",
    ("metadata",): _METADATA,
}


def _unknown(one: Any, kind: str) -> Iterator[tuple[Route, str, str]]:
    """The fields outside of the pod templates that Kubernetes and the operator do not know."""
    for route, names in {**_EVERY, **_KNOWN.get(kind, {})}.items():
        value = _at(one, route)
        for key in cast("dict[str, Any]", value if isinstance(value, dict) else {}):
            known = names.split()
            if key not in known:
                owner = f"`{route[-1]}`" if route else f"a {kind}"
                message = f"{owner} has no field {quote(key)}"
                yield (*route, key, KEY), message, choose(key, known)


def misshapen(one: Any, target: Target) -> Iterator[tuple[Route, str, str]]:
    """The route of each field that has no shape of its type, what is wrong, and what to write.

    A route that ends with `KEY` means the key before it, and not its value.
    Of fields of the object itself, beside labels, annotations and pod templates, the names are
    looked at; their values are the business of the back end's own controller.
    """
    yield from _unknown(one, target.kind)
    lost: set[Route] = set()
    above = {route[:length] for route in target.templates for length in range(1, len(route) + 1)}
    texts = [("metadata", "labels"), ("metadata", "annotations")]
    for route in sorted({*above, ("metadata",), *texts}, key=lambda route: (len(route), route)):
        value = _at(one, route)
        if value is not None and not isinstance(value, dict):
            lost.add(route)
            yield route, f"`{route[-1]}` holds no fields", "write a mapping (key: value)"
    for route in texts:
        entries = _at(one, route)
        for key, value in cast(
            "dict[str, Any]", entries if isinstance(entries, dict) else {}
        ).items():
            if not isinstance(value, str):
                yield (
                    (*route, key),
                    f"{quote(key)} is text to Kubernetes",
                    "put the value in quotes",
                )
    for template in target.templates:
        value = _at(one, template)
        if value is None or any(template[: len(route)] == route for route in lost):
            continue
        for violation in violations(value):
            if (
                violation.kind != "required"
                or (violation.owner, violation.name) not in _FROM_THE_RUN
            ):
                unknown = violation.kind == "additionalProperties"
                mark = (KEY,) if unknown else ()
                yield (*template, *violation.route, *mark), *_in_words(violation)


def _at(value: Any, route: Route) -> Any:
    for step in route:
        value = cast("dict[Any, Any]", value).get(step) if isinstance(value, dict) else None
    return value


def _in_words(violation: Violation) -> tuple[str, str]:
    owner = violation.owner or "the mapping"
    if violation.kind == "required":
        return f"{owner} needs the field `{violation.name}`", f"add `{violation.name}:`"
    if violation.kind == "additionalProperties":
        remedy = choose(violation.name, violation.wanted)
        return f"{owner} has no field {quote(violation.name)}", remedy
    if violation.kind == "type":
        wanted: Any = violation.wanted
        names = cast("list[Any]", wanted) if isinstance(wanted, list) else [wanted]
        words = " or ".join(_WANTED.get(str(name), str(name)) for name in names)
        return f"{words} is wanted here", f"write {words}"
    return "Kubernetes does not take this value", f"it wants {violation.kind}: {violation.wanted}"
