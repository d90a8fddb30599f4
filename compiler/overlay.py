"""A run as a kustomize overlay over the snapshot of its base.

The overlay is the smallest JSON patch (RFC 6902) from the base's object to the run's: what the
base says is said by the base alone. Stock kustomize merges no lists in a PyTorchJob, so the lists
are merged here, and the patch sets the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from compiler.backends import Object, Target
from compiler.base import Base
from compiler.baseobject import CONTAINER, SHARED_MEMORY, shared_memory
from compiler.merge import merge
from compiler.model import Run
from compiler.source import quote
from compiler.variables import circular, ordered
from compiler.yamlout import dump, dump_all

if TYPE_CHECKING:
    from compiler.results import RunResult

API: Object = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
PATCH = "run.yaml"
"""The file of a run's overlay that says the run."""
NOTICE = "Written by Runwright; edits are lost."

# What a person looks for first; all other keys follow by their letters.
_FIRST = ("apiVersion", "kind", "metadata", "name", "namespace", "image", "command", "args", "env")
_RANK = {key: rank for rank, key in enumerate(_FIRST)}
# Lists whose items are patched one by one where the base's items lead: the base then carries its
# part of a container, which is most of what it says.
_BY_ITEM = frozenset({"containers", "initContainers"})


def desired(base: Base, emitted: Object, target: Target) -> Object:
    """The object of a run: what the back end made, over the object of the base.

    Lists merge by their keys (`compiler.merge`). Of the base, replica types that the run does not
    have are left out, and so are the volumes that nothing mounts any more. Keys have a fixed
    order, whatever the order in the declaration and the base.
    """
    lower = base.object
    for template in target.templates:
        if len(template) > 2 and _at(emitted, template) is None:
            lower = _without(lower, template[:-1])
    emitted = dict(emitted)
    for template in target.templates:
        spec = _at(lower, (*template, "spec"))
        upper = _at(emitted, (*template, "spec"))
        if spec is not None and upper is not None:
            lower = _with(lower, (*template, "spec"), _settled(spec, upper))
    made = merge(emitted, lower)
    for template in target.templates:
        spec = _at(made, (*template, "spec"))
        if spec is not None and _at(lower, template) is not None:
            spec = _expandable(_mounted(spec, _at(emitted, template) or {}))
            made = _with(made, (*template, "spec"), spec)
    return cast("Object", _ordered(made))


def _settled(lower: Object, upper: Object) -> Object:
    """The base's pod without what a merge by keys would mix into something invalid.

    A volume has one source and a variable one value; memory at /dev/shm goes where the run has
    none there, which is `shm_size: 0`.
    """
    lower = dict(lower)
    taken = {volume.get("name"): volume for volume in _list(upper, "volumes")}
    if "volumes" in lower:
        lower["volumes"] = [
            volume
            for volume in _list(lower, "volumes")
            if volume.get("name") not in taken or _same_kind(volume, taken[volume.get("name")])
        ]
    for field in ("initContainers", "containers"):
        if field in lower:
            above = {container.get("name"): container for container in _list(upper, field)}
            lower[field] = [
                _settled_container(lower, container, above.get(container.get("name")))
                for container in _list(lower, field)
            ]
    return lower


def _settled_container(pod: Object, lower: Object, upper: Object | None) -> Object:
    if upper is None:
        return lower
    lower = dict(lower)
    names = {variable.get("name") for variable in _list(upper, "env")}
    if "env" in lower:
        lower["env"] = [item for item in _list(lower, "env") if item.get("name") not in names]
    if lower.get("name") == CONTAINER and shared_memory(pod, lower) is not None:
        lower["volumeMounts"] = [
            mount
            for mount in _list(lower, "volumeMounts")
            if mount.get("mountPath") != SHARED_MEMORY
        ]
    return lower


def _same_kind(one: Object, other: Object) -> bool:
    return set(one) == set(other)


def _mounted(spec: Object, emitted: Object) -> Object:
    """The pod without the base's volumes that nothing mounts."""
    used = {volume.get("name") for volume in _list(_at(emitted, ("spec",)) or {}, "volumes")}
    for field in ("initContainers", "containers"):
        for container in _list(spec, field):
            for mounts in ("volumeMounts", "volumeDevices"):
                used |= {mount.get("name") for mount in _list(container, mounts)}
    return {**spec, "volumes": [v for v in _list(spec, "volumes") if v.get("name") in used]}


def _expandable(spec: Object) -> Object:
    """The pod with each variable after those that it refers to.

    A variable of the base may refer to one that the job sets anew, and that one comes later.
    """
    spec = dict(spec)
    for field in ("initContainers", "containers"):
        if field in spec:
            spec[field] = [
                {**container, "env": _arranged(container["env"])}
                if "env" in container
                else container
                for container in _list(spec, field)
            ]
    return spec


def _arranged(env: list[Object]) -> list[Object]:
    texts = {item["name"]: item["value"] for item in env if isinstance(item.get("value"), str)}
    if not any("$(" in text for text in texts.values()) or circular(texts):
        return env
    by_name = {item["name"]: item for item in env if item["name"] in texts}
    rest = [item for item in env if item["name"] not in texts]
    order = list(ordered(texts))
    if order == list(texts):
        return env
    return [*rest, *(by_name[name] for name in order)]


def _ordered(value: Any) -> Any:
    """Plain data with the keys of every mapping in their fixed order, and nothing empty in vain.

    Kubernetes reads an empty list as none, and at some the training operator panics. Of an object
    kustomize takes empty labels and annotations away.
    """
    if isinstance(value, dict):
        entries = cast("Object", value)
        return {
            key: item if item.__class__ in _ATOMS else _ordered(item)
            for key in _order(tuple(entries))
            if (item := entries[key]) or not _vain(key, item)
        }
    if isinstance(value, list):
        return [_ordered(item) for item in cast("list[Any]", value)]
    return value


_ATOMS = frozenset({str, int, bool, type(None)})


@lru_cache(maxsize=4096)
def _order(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(keys, key=lambda key: (_RANK.get(key, len(_FIRST)), key)))


def _vain(key: str, value: Any) -> bool:
    return value == [] or (value == {} and key in ("labels", "annotations"))


def files(result: RunResult, base: Base) -> dict[str, str]:
    """The files of a run's overlay by their path from the repository's root.

    They are a kustomization, the JSON patch, and the ConfigMaps of the run where it has some.
    """
    run, (training, *others) = result.run, result.objects
    folder = run_folder(run)
    who = run.identity
    header = (
        f"# {who.team}/{who.job}, run {who.number} on {who.cluster}, "
        f"from {quote(run.path, 200)[1:-1]}. {NOTICE}\n"
    )
    kustomization = {
        **API,
        "resources": [f"../../../base/{base.digest}", *(["files.yaml"] if others else [])],
        "patches": [
            {
                "path": PATCH,
                "target": {"kind": base.object["kind"], "name": base.object["metadata"]["name"]},
            }
        ],
    }
    made = {
        f"{folder}/kustomization.yaml": header + dump(kustomization),
        f"{folder}/{PATCH}": header + dump(operations(base.object, training)),
    }
    if others:
        made[f"{folder}/files.yaml"] = header + dump_all(others)
    return made


def run_folder(run: Run) -> str:
    """The folder of a run's overlay, from the repository's root."""
    who = run.identity
    return f"overlays/{who.cluster}/{who.team}/{who.job}/r{who.number}"


def snapshot(cluster: str, base: Base) -> dict[str, bytes]:
    """The copy of a base on a cluster, byte for byte, by path from the repository's root."""
    return {f"overlays/{cluster}/base/{base.digest}/{path}": data for path, data in base.files}


def team_files(
    cluster: str, team: str, namespace: str, runs: Iterable[tuple[str, int]]
) -> dict[str, str]:
    """The kustomization of a team on a cluster, and its sentinel, by path from the root.

    `runs` are the active runs, as (job, number). A syncer that would prune everything refuses to;
    the sentinel is what is left when the last run is gone.
    """
    active = sorted(runs)
    header = f"# All active runs of {team} on {cluster}. {NOTICE}\n"
    kustomization = {
        **API,
        "resources": ["sentinel.yaml", *(f"{job}/r{number}" for job, number in active)],
    }
    sentinel = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"runwright-{team}",
            "namespace": namespace,
            "labels": {"app.kubernetes.io/managed-by": "runwright", "runwright/team": team},
        },
        "data": {"runs": "".join(f"{job}-r{number}\n" for job, number in active)},
    }
    folder = f"overlays/{cluster}/{team}"
    return {
        f"{folder}/kustomization.yaml": header + dump(kustomization),
        f"{folder}/sentinel.yaml": header + dump(sentinel),
    }


def operations(base: Object, wanted: Object) -> list[Object]:
    """The JSON patch that turns one object into another: as few and as small as can be read."""
    made: list[Object] = []
    _compare(base, wanted, "", made)
    return made


def _compare(lower: Any, upper: Any, pointer: str, made: list[Object]) -> None:
    if type(lower) is dict and type(upper) is dict:
        below, above = cast("Object", lower), cast("Object", upper)
        made += [
            {"op": "remove", "path": f"{pointer}/{_escaped(key)}"}
            for key in below
            if key not in above
        ]
        for key, value in above.items():
            path = f"{pointer}/{_escaped(key)}"
            if key not in below:
                made.append({"op": "add", "path": path, "value": value})
            elif key in _BY_ITEM and _leads(below[key], value):
                _items(below[key], value, path, made)
            else:
                _compare(below[key], value, path, made)
    elif not same(lower, upper):
        made.append({"op": "replace", "path": pointer, "value": upper})


def _items(lower: list[Any], upper: list[Any], pointer: str, made: list[Object]) -> None:
    for index, item in enumerate(upper):
        if index < len(lower):
            _compare(lower[index], item, f"{pointer}/{index}", made)
        else:
            made.append({"op": "add", "path": f"{pointer}/-", "value": item})


def _leads(lower: Any, upper: Any) -> bool:
    """Whether the items of the lower list are, by name, the first of the upper one."""
    if type(lower) is not list or type(upper) is not list:
        return False
    names = [_name(item) for item in cast("list[Any]", lower)]
    return None not in names and names == [_name(i) for i in cast("list[Any]", upper)][: len(names)]


def _name(item: Any) -> Any:
    return cast("Object", item).get("name") if type(item) is dict else None


def _escaped(key: str) -> str:
    """A key as a part of a JSON pointer (RFC 6901, section 3)."""
    return key.replace("~", "~0").replace("/", "~1")


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal to every reader: `1` is neither `true` nor `1.0`."""
    if type(one) is not type(other):
        return False
    if type(one) is dict:
        left, right = cast("Object", one), cast("Object", other)
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if type(one) is list:
        first, second = cast("list[Any]", one), cast("list[Any]", other)
        return len(first) == len(second) and all(map(same, first, second))
    return one == other


def _list(value: Mapping[str, Any], key: str) -> list[Object]:
    """The mappings in a list of a mapping."""
    items = value.get(key)
    found: Sequence[Any] = cast("list[Any]", items) if isinstance(items, list) else ()
    return [cast("Object", item) for item in found if isinstance(item, dict)]


def _at(value: Any, route: Sequence[str]) -> Any:
    for step in route:
        value = cast("Object", value).get(step) if isinstance(value, dict) else None
    return value


def _with(value: Object, route: Sequence[str], part: Any) -> Object:
    """A copy of an object with another value at a route; the rest is shared."""
    inner = part if len(route) == 1 else _with(value[route[0]], route[1:], part)
    return {**value, route[0]: inner}


def _without(value: Object, route: Sequence[str]) -> Object:
    """A copy of an object without the value at a route; the rest is shared."""
    if route[0] not in value:
        return value
    if len(route) == 1:
        return {key: item for key, item in value.items() if key != route[0]}
    return {**value, route[0]: _without(value[route[0]], route[1:])}
