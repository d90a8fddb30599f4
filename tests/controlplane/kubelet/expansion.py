"""The environment and the words of a container, as the API describes them.

Kubernetes' API reference, Container v1 core (`command`, `args`) and EnvVar v1 core: `$(NAME)` is a
variable of the container if there is one, and else stays as it is; `$$` is one dollar sign, so that
`$$(NAME)` is never expanded. A variable sees those before it in the list.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Object = dict[str, Any]
# Kind and name of an object in the pod's namespace; None where there is none.
Lookup = Callable[[str, str], Object | None]


class NotThere(Exception):
    """Something that a container needs does not exist (yet): it waits."""


def expand(text: str, known: Mapping[str, str]) -> str:
    """The text with the references to known variables put in."""
    made: list[str] = []
    at = 0
    while at < len(text):
        if text.startswith("$$", at):
            made.append("$")
            at += 2
            continue
        end = text.find(")", at) if text.startswith("$(", at) else -1
        if end < 0:
            made.append(text[at])
            at += 1
            continue
        whole = text[at : end + 1]
        name = whole[2:-1]
        made.append(known.get(name, whole))
        at = end + 1
    return "".join(made)


def words(container: Object, environment: Mapping[str, str], entry: Sequence[str]) -> list[str]:
    """What a container starts; `entry` is its image's own, where the pod names no command."""
    command = container.get("command") or list(entry)
    return [expand(word, environment) for word in [*command, *(container.get("args") or [])]]


def environment(pod: Object, container: Object, lookup: Lookup) -> dict[str, str]:
    """All variables that the pod gives a container. Raises NotThere for a missing source."""
    found: dict[str, str] = {}
    for source in container.get("envFrom") or []:
        prefix = source.get("prefix") or ""
        for kind, field in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
            if field in source:
                data = _data(kind, source[field], lookup)
                found |= {f"{prefix}{key}": value for key, value in data.items()}
    for variable in container.get("env") or []:
        source = variable.get("valueFrom")
        if source is None:
            found[variable["name"]] = expand(variable.get("value") or "", found)
            continue
        value = _sourced(pod, container, source, lookup)
        if value is not None:
            found[variable["name"]] = value
    return found


def _sourced(pod: Object, container: Object, source: Object, lookup: Lookup) -> str | None:
    if "fieldRef" in source:
        return field(pod, source["fieldRef"]["fieldPath"])
    if "resourceFieldRef" in source:
        kind, _, name = source["resourceFieldRef"]["resource"].partition(".")
        return str((container.get("resources") or {}).get(kind, {}).get(name, "0"))
    for kind, key in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
        if key in source:
            reference = source[key]
            data = _data(kind, reference, lookup)
            if reference["key"] in data:
                return data[reference["key"]]
            if reference.get("optional"):
                return None
            raise NotThere(f"couldn't find key {reference['key']} in {kind} {reference['name']}")
    raise NotThere(f"a variable of {', '.join(source)} is not known to this kubelet")


def field(pod: Object, path: str) -> str:
    """A field of the pod that the downward API shows."""
    head, _, key = path.partition("['")
    if key:
        return str((pod["metadata"].get(head.partition(".")[2]) or {}).get(key[:-2], ""))
    value: Any = pod
    for part in path.split("."):
        value = value.get(part, {}) if isinstance(value, dict) else {}
    if isinstance(value, dict):
        return "\n".join(f'{name}="{text}"' for name, text in sorted(value.items()))
    return str(value)


def data_of(found: Object) -> dict[str, bytes]:
    """The keys of a ConfigMap or a Secret, with their content."""
    if found.get("kind") == "Secret" or "stringData" in found:
        return {
            name: base64.b64decode(text) for name, text in (found.get("data") or {}).items()
        } | {name: text.encode() for name, text in (found.get("stringData") or {}).items()}
    data = {name: text.encode() for name, text in (found.get("data") or {}).items()}
    binary = found.get("binaryData") or {}
    return data | {name: base64.b64decode(text) for name, text in binary.items()}


def _data(kind: str, reference: Object, lookup: Lookup) -> dict[str, str]:
    found = lookup(kind, reference["name"])
    if found is None:
        if reference.get("optional"):
            return {}
        raise NotThere(f'{kind.lower()} "{reference["name"]}" not found')
    return {key: value.decode() for key, value in data_of({"kind": kind, **found}).items()}
