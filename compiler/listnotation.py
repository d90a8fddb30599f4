"""What somebody meant who wrote a list where a mapping by name is wanted.

Kubernetes has `[{name: A, value: b}]` and `[{name: models, mountPath: /models}]`, Compose has `A=b`
and `models:/models:ro`; here each is a mapping, `{A: b}` and `{/models: {claim: models}}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from compiler.nodes import Mapping, Node, Scalar, Sequence

# Fields of texts by name, where `A=b` is an entry.
_TEXTS = ("annotations", "conf", "env", "labels")
# What Kubernetes calls the name of an entry, the first that is there.
_NAMES = ("name", "key")
_VALUES = ("value", "containerPort", "secretName", "values")
_SPECIAL = re.compile(r"[,\[\]{}#&*!|>%@`]|:\s|:$|^[-?\s]|\s$|^$")
_UNSHOWN = re.compile(r"[\"'\\\x00-\x1f]")
# More entries than this are told by the first ones, and a longer text by its key alone.
_MOST = 3
_LONGEST = 60


def mapping_by_name(key: str, items: Sequence) -> str | None:
    """The mapping of the field `key` that a list was meant to be, as YAML; None where unknown."""
    entries: list[str] = []
    secrets: list[str] = []
    for item in items:
        secret = _secret(item) if key in ("env", "secrets") else None
        entry = secret or _entry(key, item)
        if entry is None:
            return None
        (secrets if secret is not None and key == "env" else entries).append(entry)
    parts = [_joined(entries)] if entries else []
    if secrets:
        parts.append(f"in `secrets:` {_joined(secrets)}")
    return ", and ".join(parts) or None


def _joined(entries: list[str]) -> str:
    more = ["..."] if len(entries) > _MOST else []
    return "{" + ", ".join(entries[:_MOST] + more) + "}"


def _entry(key: str, item: Node) -> str | None:
    """One `name: value` of the mapping."""
    if isinstance(item, Mapping):
        return _mount(item) if key == "mounts" and "mountPath" in item else _named(key, item)
    if not isinstance(item, Scalar):
        return None
    word = str(item)
    if key in _TEXTS:
        name, equals, value = word.partition("=")
        return f"{name}: {_shown(value)}" if equals and re.fullmatch(r"[\w./-]+", name) else None
    if key == "mounts" and (
        found := re.fullmatch(r"([a-z0-9][\w.-]*):(/[^:]+)(?::(ro|rw))?", word)
    ):
        read_only = ", read_only: true" if found[3] == "ro" else ""
        return f"{found[2]}: {{claim: {found[1]}{read_only}}}"
    if key == "files" and (found := re.fullmatch(r"(?:\./)?([\w][\w./-]*):(/[^:]+)(?::ro)?", word)):
        return f"{found[2]}: {found[1]}"
    if key == "ports" and (found := re.fullmatch(r"(?:[0-9]+:)?([0-9]{1,5})(?:/tcp)?", word)):
        return f"port-{found[1]}: {found[1]}"
    return None


def _mount(item: Mapping) -> str | None:
    """A volume mount: what it calls a volume is a claim here."""
    path, name = item["mountPath"], item.get("name")
    if not isinstance(path, Scalar) or not isinstance(name, Scalar):
        return None
    inner = [f"claim: {_shown(name)}"]
    if str(item.get("readOnly", "")) == "true":
        inner.append("read_only: true")
    if isinstance(folder := item.get("subPath"), Scalar):
        inner.append(f"sub_path: {_shown(folder)}")
    return f"{_shown(path)}: {{{', '.join(inner)}}}"


def _named(key: str, item: Mapping) -> str | None:
    """An entry with its name beside the rest, or a mapping of one name."""
    name = next((item[one] for one in _NAMES if isinstance(item.get(one), Scalar)), None)
    rest = {str(k): v for k, v in item.items() if v is not name}
    if name is None or not rest:
        only = list(rest.items()) if len(item) == 1 and name is None else []
        pairs = [(k, _inner(v)) for k, v in only]
        if key == "ports" and isinstance(number := item.get("containerPort"), Scalar):
            return f"port-{number}: {number}"
        return f"{pairs[0][0]}: {pairs[0][1]}" if pairs else None
    value = next((rest[one] for one in _VALUES if isinstance(rest.get(one), Scalar)), None)
    if value is not None:
        return f"{_shown(name)}: {_inner(value)}"
    if key in _TEXTS:
        return None
    return f"{_shown(name)}: {{{', '.join(f'{k}: {_inner(v)}' for k, v in rest.items())}}}"


def _secret(item: Node) -> str | None:
    """`NAME: secret/key` of a variable from a Secret, as Kubernetes has it."""
    steps = ("valueFrom", "secretKeyRef")
    node: Node | None = item
    for step in steps:
        node = node.get(step) if isinstance(node, Mapping) else None
    if not isinstance(node, Mapping) or not isinstance(item, Mapping):
        return None
    words = list(_scalars(item.get("name"), node.get("name"), node.get("key")))
    return f"{words[0]}: {words[1]}/{words[2]}" if len(words) == 3 else None


def _scalars(*nodes: Node | None) -> Iterator[str]:
    return (str(node) for node in nodes if isinstance(node, Scalar))


def _inner(node: Node) -> str:
    if isinstance(node, Mapping) and all(isinstance(value, Scalar) for value in node.values()):
        return "{" + ", ".join(f"{key}: {_shown(value)}" for key, value in node.items()) + "}"
    return _shown(node)


def _shown(node: Node | str) -> str:
    """A text as it can stand in brackets; a placeholder for what would need escapes, or a block."""
    if not isinstance(node, str):
        return "..."
    word = str(node)
    if _UNSHOWN.search(word) or len(word) > _LONGEST:
        return '"..."'
    return f'"{word}"' if _SPECIAL.search(word) else word
