"""Nodes against a model: the typed value, or one finding per mistake in our own words."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, TypeVar, get_args

from msgspec.structs import replace
from pydantic import BaseModel, ValidationError

from compiler.diagnostics import Edit, Finding, Place
from compiler.nodes import Mapping, Node, Scalar, descend
from compiler.notation import (
    is_certain,
    key_of,
    mapping_of,
    parted,
    plain_route,
    range_of,
    separated,
    swapped,
)
from compiler.outdented import Outdented, outdented
from compiler.pasted import pasted
from compiler.rules import finding
from compiler.scalars import shown
from compiler.source import MOST
from compiler.suggestions import any_of, nearest

M = TypeVar("M", bound=BaseModel)

# Words of other tools and of Kubernetes for a thing that has another name here.
SYNONYMS: dict[str, str] = {
    "nodes": "num_nodes",
    "node": "num_nodes",
    "replicas": "num_nodes",
    "workers": "num_nodes",
    "numnodes": "num_nodes",
    "gpus": "accelerators",
    "gpu": "accelerators",
    "gpus_per_node": "accelerators",
    "accelerator": "accelerators",
    "envs": "env",
    "environment": "env",
    "volumes": "mounts",
    "volume_mounts": "mounts",
    "file_mounts": "mounts",
    "timeout": "max_duration",
    "time": "max_duration",
    "duration": "max_duration",
    "time_limit": "max_duration",
    "activedeadlineseconds": "max_duration",
    "shm": "shm_size",
    "retries": "retry",
    "max_retries": "retry",
    "backofflimit": "retry",
    "grace": "stop",
    "terminationgraceperiodseconds": "stop",
    "partition": "queue",
    "run": "command",
    "script": "command",
    "entrypoint": "command",
    "imagepullpolicy": "pull",
    "disk_size": "ephemeral_storage",
    "disk": "ephemeral_storage",
    "pull_secret": "pull_secrets",
    "pullsecrets": "pull_secrets",
    "imagepullsecrets": "pull_secrets",
    "hostnetwork": "host_network",
    "initcontainers": "init",
    "init_containers": "init",
    "containers": "sidecars",
    "tolerations": "placement",
    "nodeselector": "placement",
    "node_selector": "placement",
    "podspec": "pod",
    "pod_template": "pod",
    "mem": "memory",
    "cpus": "cpu",
    "resources_per_node": "resources",
    "clusters": "cluster",
    "pvc": "claim",
    "emptydir": "scratch",
    "subpath": "sub_path",
    "readonly": "read_only",
}
# Keys that people look for and that have no field, with the reason.
ABSENT: dict[str, tuple[str, str]] = {
    "name": ("a job's name is the name of its file", "rename the file, and take this line out"),
    "namespace": ("the namespace belongs to the team (policy/teams/)", "take this line out"),
    "nproc_per_node": ("processes per node are derived from `accelerators`", "take this line out"),
    "nprocpernode": ("processes per node are derived from `accelerators`", "take this line out"),
    "processes_per_node": (
        "processes per node are derived from `accelerators`",
        "take this line out",
    ),
    "ttlsecondsafterfinished": (
        "under GitOps a finished object that removes itself is created again, and trains again",
        "take this line out; a finished run is archived instead",
    ),
    "ttl": (
        "under GitOps a finished object that removes itself is created again, and trains again",
        "take this line out; a finished run is archived instead",
    ),
    "suspend": (
        "a queue suspends and resumes runs by itself",
        "write `state: stopped` to stop the run",
    ),
    "restartpolicy": ("how a run restarts follows from `retry`", "write retry: {max: 3}"),
    "restart": ("how a run restarts follows from `retry`", "write retry: {max: 3}"),
    "cleanpodpolicy": ("the pods of a finished run always end with it", "take this line out"),
}


def validate(model: type[M], node: Node, values: str) -> tuple[M | None, list[Finding]]:
    """The node as an instance of `model`, and what is wrong with it.

    `values` names what the file holds in messages ("a job", "a cluster"). The instance is None
    exactly if there are findings.
    """
    try:
        return model.model_validate(node), []
    except ValidationError as error:
        return None, _findings(model, node, values, error)


def _findings(
    model: type[BaseModel], node: Node, values: str, error: ValidationError
) -> list[Finding]:
    """One finding for each problem; of each kind at most `MOST`, the last counting the rest.

    To name the nearest key takes its time, and a file can hold thousands of one mistake.
    """
    problems = error.errors(include_url=False, include_input=False)
    if (foreign := pasted(model.model_fields, node, values)) is not None:
        return [foreign]
    swaps = {
        problem["loc"][:-1]
        for problem in problems
        if problem["loc"][-1:] == ("[key]",) and swapped(node, problem["loc"][:-1])
    }
    problems = [problem for problem in problems if problem["loc"] not in swaps]
    beside = _beside(model, node, problems)
    said = {route for each in beside for route in each.routes}
    problems = [problem for problem in problems if plain_route(problem["loc"]) not in said]
    unknown = {problem["loc"][:-1] for problem in problems if problem["type"] == "extra_forbidden"}
    groups: dict[str, list[Finding]] = {}
    if beside:
        groups["outdented"] = [each.told(node) for each in beside[:MOST]]
    rest: Counter[str] = Counter()
    for problem in problems:
        kind = problem["ctx"]["rule"] if problem["type"] == "fault" else problem["type"]  # type: ignore[typeddict-item]
        group = groups.setdefault(kind, [])
        if len(group) == MOST:
            rest[kind] += 1
        elif (item := _finding(model, node, values, problem, unknown)) is not None:
            group.append(item)
    for kind, count in rest.items():
        last = groups[kind][-1]
        more = f"{last.message} ({count} more such places in this file are not listed)"
        groups[kind][-1] = replace(last, message=more)
    return [item for group in groups.values() for item in group]


def _beside(model: type[BaseModel], node: Node, problems: list[Any]) -> list[Outdented]:
    """The keys whose indentation is missing."""
    return list(
        outdented(
            node,
            {plain_route(each["loc"]) for each in problems if each["type"] == "extra_forbidden"},
            {
                plain_route(each["loc"])
                for each in problems
                if each["type"] != "fault" and "mapping" in _wanted(each["type"], each)
            },
            lambda route: _models(model, route),
            lambda key, known: (
                not (nearest(key, known, 0.7) or key.lower() in SYNONYMS or key.lower() in ABSENT)
            ),
        )
    )


def _finding(
    model: type[BaseModel],
    node: Node,
    values: str,
    problem: Any,
    unknown: set[tuple[str | int, ...]],
) -> Finding | None:
    """The finding for a problem; None where another one says it."""
    route = problem["loc"]
    kind = problem["type"]
    if kind == "fault":
        context = problem["ctx"]
        where = place(node, route)
        edits = () if context["fix"] is None else (Edit(where, context["fix"]),)
        remedy = context["help"]
        if route[-1:] == ("[key]",) and (meant := swapped(node, route[:-1])) is not None:
            remedy = f"write `{meant}`"
        if context["rule"] == "empty-value":
            steps = plain_route(route)
            key = str(steps[-1]) if steps else ""
            whole = parted(descend(node, steps[:-1])[0], key)
            if whole is not None and key not in _known(model, steps[:-1]):
                remedy = f"{remedy}; if the comma is text, write `{whole}`"
        if key_of(route) == "num_nodes" and context["rule"] == "wrong-type":
            written, _ = descend(node, route)
            meant = range_of(written)
            if meant is not None:
                certain = is_certain(route, written)
                remedy, edits = f"write {meant}", (Edit(where, meant),) if certain else ()
        return finding(context["rule"], where, context["message"], remedy, edits=edits)
    if kind in ("extra_forbidden", "missing") and key_of(route[:-1]) == "num_nodes":
        written, _ = descend(node, route[:-1])
        if (meant := range_of(written)) is not None:
            if kind == "missing" or str(route[-1]) != next(iter(written), ""):
                return None
            message = "`num_nodes` needs the keys min and max"
            return finding("unknown-key", written.place, message, f"write {meant}")
    if kind == "extra_forbidden":
        return _unknown_key(model, node, route, values)
    if kind == "missing":
        # A misspelt key is one mistake: its finding already names the key that is wanted.
        if route[:-1] in unknown and _misspelt(model, node, route):
            return None
        return _missing(node, route, values)
    where = place(node, route)
    if kind == "too_short":
        remedy = "write at least one item"
        remedy += "" if _required(model, route) else ", or leave the key out"
        return finding("empty-value", where, "the list is empty", remedy)
    wanted = _wanted(kind, problem)
    found, _ = descend(node, route)
    if isinstance(found, Scalar) and found.empty:
        message = f"there is no value here, where {wanted} is wanted"
        return finding("empty-value", where, message, "write the value, or leave the key out")
    message = f"{shown(found)} stands where {wanted} is wanted"
    remedy = f"write {wanted}"
    edits = ()
    below = _known(model, route) != _known(model, route[:-1])
    if (meant := mapping_of(route, found, by_name=kind == "dict_type")) is not None:
        remedy = f"write {meant}"
        edits = (Edit(where, meant),) if is_certain(route, found) else ()
    elif kind == "list_type" and not below and re.fullmatch(r"[\w./-]+", str(found)):
        remedy = f"write [{found}]"
        edits = (Edit(where, f"[{found}]"),)
    elif kind == "model_type" and (keys := _known(model, route)):
        remedy = f"write keys below it, such as `{keys[0]}: ...`"
    return finding("wrong-type", where, message, remedy, edits=edits)


def place(root: Node, route: tuple[str | int, ...]) -> Place:
    """The authored place of a route: the value, or the key for the mark pydantic sets on keys."""
    if route and route[-1] == "[key]":
        return descend(root, route[:-1], key=True)[0].place
    found, complete = descend(root, route)
    if isinstance(found, Scalar) and found.empty and found == "" and not complete:
        return found.place
    return found.place


def _wanted(kind: str, problem: Any) -> str:
    if kind == "union_tag_invalid":
        expected = str(problem["ctx"].get("expected_tags", ""))
        words = {"<scalar>": "a single value", "<mapping>": "a mapping", "<list>": "a list"}
        return " or ".join(word for tag, word in words.items() if tag in expected)
    if kind in ("model_type", "dict_type", "model_attributes_type", "mapping_type"):
        return "a mapping (key: value)"
    if kind in ("list_type", "tuple_type"):
        return "a list"
    return "another value"


def _unknown_key(
    model: type[BaseModel], node: Node, route: tuple[str | int, ...], values: str
) -> Finding:
    parent, _ = descend(node, route[:-1])
    name = str(route[-1])
    key = parent.key(name) if isinstance(parent, Mapping) else None
    where = key.place if key is not None else parent.place
    known = _known(model, route[:-1])
    compact = name.lower().replace("-", "_")
    absent = ABSENT.get(compact.replace("_", "")) or ABSENT.get(compact)
    squeezed = compact.replace("_", "")
    synonym = SYNONYMS.get(compact) or SYNONYMS.get(squeezed)
    near = nearest(compact, known, 0.7)
    owner = _owner(route, values)
    message = f"{owner} has no key `{name}`"
    value = parent[name] if isinstance(parent, Mapping) and key is not None else None
    apart = separated(name, value, known) if key is not None else None
    if apart is not None:
        return finding("unknown-key", where, f"{apart[0]} in `{name}`", f"write `{apart[1]}`")
    if not near and (whole := parted(parent, name)) is not None:
        message = f"`{name}` is a key of its own here, after a comma"
        return finding("unknown-key", where, message, f"write `{whole}` if it belongs to the text")
    if route[:-1] == ("elastic",) and name in ("min", "max"):
        remedy = "write num_nodes: {min: 2, max: 4} at the top of the job"
        return finding("unknown-key", where, message, remedy)
    if synonym in known:
        return finding("unknown-key", where, message, f"write `{synonym}`")
    if near:
        return finding("unknown-key", where, message, f"write `{near}`")
    if absent and len(route) == 1:
        return finding("unknown-key", where, f"{message}: {absent[0]}", absent[1])
    return finding("unknown-key", where, message, any_of(known, 12) if known else "take it out")


def _owner(route: tuple[str | int, ...], values: str) -> str:
    """What a key is in, for messages: the nearest key above it, or the file's own kind."""
    above = [step for step in route[:-1] if isinstance(step, str) and not step.startswith("<")]
    return f"`{above[-1]}`" if above else values


def _misspelt(model: type[BaseModel], node: Node, route: tuple[str | int, ...]) -> bool:
    parent, _ = descend(node, route[:-1])
    if not isinstance(parent, Mapping):
        return False
    known = set(_known(model, route[:-1]))
    wanted = str(route[-1])
    return any(
        name not in known and (nearest(name, [wanted], 0.7) or SYNONYMS.get(name) == wanted)
        for name in parent
    )


def _missing(node: Node, route: tuple[str | int, ...], values: str) -> Finding:
    parent, _ = descend(node, route[:-1])
    owner = _owner(route, values)
    anchor = parent.place
    if isinstance(parent, Mapping) and not parent.flow:
        # The first key is a better anchor than a block that spans half the file.
        first = next(iter(parent), None)
        anchor = first.place if isinstance(first, Scalar) else anchor
    return finding(
        "missing-key", anchor, f"{owner} needs the key `{route[-1]}`", f"add `{route[-1]}:` here"
    )


def _known(model: type[BaseModel], route: tuple[str | int, ...]) -> list[str]:
    """The keys that the mapping at `route` may have."""
    return [
        info.alias or name
        for candidate in _models(model, route)
        for name, info in candidate.model_fields.items()
    ]


def _required(model: type[BaseModel], route: tuple[str | int, ...]) -> bool:
    """Whether the mapping around `route` needs its last key."""
    return any(
        info.is_required() and (info.alias or name) == route[-1]
        for candidate in _models(model, route[:-1])
        for name, info in candidate.model_fields.items()
    )


def _models(model: type[BaseModel], route: tuple[str | int, ...]) -> tuple[type[BaseModel], ...]:
    """The models of which the mapping at `route` may be."""
    candidates: tuple[type[BaseModel], ...] = (model,)
    for step in route:
        deeper: list[type[BaseModel]] = []
        for candidate in candidates:
            for name, info in candidate.model_fields.items():
                if (info.alias or name) == step:
                    deeper += _annotated_models(candidate, name)
        if deeper:
            candidates = tuple(deeper)
    return candidates


def _annotated_models(model: type[BaseModel], name: str) -> list[type[BaseModel]]:
    return _collect(model.model_fields[name].annotation)


def _collect(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _collect(part)]
