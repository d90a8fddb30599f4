"""The base of a back end: looked through, built, and ready to be merged under runs.

`base/<backend>/` is plain kustomize, written by the platform team. A base that lists one resource
file is read by the compiler itself; anything more is built once by kustomize, and remembered by
its content.
"""

from __future__ import annotations

import json
import re
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from compiler.backends import Backend
from compiler.baseobject import Judgement, Object, Route
from compiler.baseshape import KEY, misshapen
from compiler.cachefile import load_cached, save_cached
from compiler.diagnostics import Finding, Place, Severity, Unavailable, arrange
from compiler.kustomization import Kustomization, inspect
from compiler.merge import LIST_KEYS
from compiler.nodes import Mapping, Node, Scalar, Sequence, descend
from compiler.rules import finding
from compiler.yamlout import LOST_BY_KUSTOMIZE


class Base(Struct, frozen=True):
    """What every run of a back end shares.

    `digest` is 12 hex digits over the names and bytes of `files`, which are all that kustomize
    reads of it, with paths from the base's folder. `fields` is what the object says in the words
    of a declaration, as nodes at the base's own places: a layer below the accelerator's shape.
    """

    name: str
    digest: str
    files: tuple[tuple[str, bytes], ...]
    object: Object
    fields: Mapping | None
    _kustomization: Kustomization

    def place(self, route: Route) -> Place:
        """The authored place of a route in the object, else the kustomization's first line."""
        return _place(self._kustomization, self.object, route)


def load(repository: Any, backend: Backend) -> tuple[Base | None, list[Finding]]:
    """The base of a back end, or None and what is wrong with it.

    Raises Unavailable where the base needs kustomize, its result is not in the cache, and there
    is no kustomize.
    """
    name = backend.target.name
    shown = f"base/{name}"
    root: Path = repository.root / "base" / name
    for folder in (root.parent, root):
        if folder.is_symlink():
            where = Place.start(f"{shown}/kustomization.yaml")
            message = f"{repository.relative(folder)}/ is a link, and what it leads to may change"
            return None, [finding("far-base-path", where, message, "put the folder itself here")]
    made = inspect(root, shown)
    if _wrong(made.findings):
        return None, _settled(made.findings)
    files = tuple(sorted(made.files.items()))
    digest = sha256()
    for path, data in files:
        digest.update(f"{len(path.encode())} {path} {len(data)} ".encode() + data)
    objects = _read(made)
    if objects is None:
        try:
            objects = _built(repository.cache / "bases", digest.hexdigest(), made, repository.root)
        except _Refused as refused:
            message = f"kustomize does not build it: {refused}"
            remedy = f"run `kustomize build {shown}` to see it for yourself"
            return None, [finding("unbuildable-base", made.place, message, remedy)]

    def place(route: Route) -> Place:
        return _place(made, objects[0] if objects else {}, route)

    judgement = Judgement(shown, backend.target, place)
    one = judgement.objects(objects)
    if one is None:
        return None, judgement.findings
    judgement.object(one)
    told = {item.place for item in judgement.findings}
    bad = [
        finding("bad-base-field", place(route), f"{shown}: {message}", remedy)
        for route, message, remedy in misshapen(one, backend.target)
        if place(route) not in told
    ]
    if bad:
        return None, _settled([*made.findings, *judgement.findings, *bad])
    fields = judgement.fields(one, lambda route: _node(made, one, route))
    findings = _settled([*made.findings, *judgement.findings])
    if _wrong(findings):
        return None, findings
    return Base(name, digest.hexdigest()[:12], files, one, fields, made), findings


def _wrong(findings: list[Finding]) -> bool:
    return any(one.severity is Severity.ERROR for one in findings)


def _settled(findings: list[Finding]) -> list[Finding]:
    """The findings, each once, in the order of their places."""
    return arrange(findings)


class _Refused(Exception):
    """kustomize does not build the base."""


# Plain scalars of which kustomize and every reader make the same: words and whole numbers.
_WORD = re.compile(r"(?!(?i:y|n|yes|no|on|off|true|false|null)\Z)[A-Za-z/][A-Za-z0-9 _./@%+,()-]*")
_AMOUNT = re.compile(r"[1-9][0-9]{0,9}(?:Ki|Mi|Gi|Ti|m)")
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,14}")


def _read(made: Kustomization) -> list[Object] | None:
    """The objects of a base that lists one plain file, or None where kustomize must decide."""
    tree = made.trees.get(made.only) if made.only is not None else None
    if not isinstance(tree, Mapping) or str(tree.get("kind", "")).endswith("List"):
        return None
    metadata = tree.get("metadata")
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get("name"), Scalar):
        return None
    try:
        return [_plain(tree, "")]
    except _Open:
        return None


class _Open(Exception):
    """A value whose meaning is kustomize's to decide."""


def _plain(node: Node, inside: str) -> Any:
    if isinstance(node, Scalar):
        text = str(node)
        if LOST_BY_KUSTOMIZE.search(text):
            raise _Open
        if not node.plain or _WORD.fullmatch(text) or _AMOUNT.fullmatch(text):
            return text
        if inside not in ("labels", "annotations"):
            if text in ("true", "false"):
                return text == "true"
            if _WHOLE.fullmatch(text):
                return int(text)
        raise _Open
    if not node:
        raise _Open
    if isinstance(node, Mapping):
        if any(not key.isprintable() or key.startswith("$") for key in node):
            raise _Open
        return {str(key): _plain(value, str(key)) for key, value in node.items()}
    return [_plain(item, "") for item in node]


def _built(cache: Path, digest: str, made: Kustomization, root: Path) -> list[Object]:
    """The objects that kustomize makes of the base, from the cache where it was built before."""
    stored = cache / f"{digest}.json"
    try:
        known = json.loads(load_cached(stored))
        if isinstance(known, list):
            return cast("list[Object]", known)
    except (OSError, ValueError):
        pass
    from compiler.kustomize import find
    from compiler.processes import BuildFailed

    try:
        kustomize = find(root)
    except Unavailable as error:
        raise Unavailable(
            f"{made.root}/ is more than one plain file: {error}", error.help
        ) from None
    with tempfile.TemporaryDirectory(prefix="runwright-base-") as folder:
        for path, data in made.files.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        try:
            objects = kustomize.build(Path(folder))
        except BuildFailed as error:
            raise _Refused(str(error)) from None
    save_cached(stored, json.dumps(objects).encode())
    return objects


def _place(made: Kustomization, one: Object, route: Route) -> Place:
    if route[-1:] == (KEY,):
        *above, name, _ = route
        around = _node(made, one, tuple(above)) if above else made.trees.get(made.only or "")
        written = around.key(str(name)) if isinstance(around, Mapping) else None
        if written is not None:
            return written.place
        route = route[:-1]
    while route:
        node = _node(made, one, route, key=True)
        if node is not None:
            return node.place
        route = route[:-1]
    return made.place


def _node(made: Kustomization, one: Object, route: Route, key: bool = False) -> Node | None:
    """The node that sets a route of the object: the last patch that does, else the resource.

    Lists are followed by the keys of their items, as a patch need not have the same indexes. With
    `key`, the key stands for a mapping or list, which is many lines long.
    """
    for tree, shown in reversed(made.patches):
        if tree is None:
            continue
        if isinstance(tree, Sequence):
            found = _patched(tree, route, key)
        else:
            found = _at(tree, one, route, key)
        if found is not None:
            return found if tree.path == found.path else shown
    for path in made.resources:
        found = _at(made.trees[path], one, route, key)
        if found is not None:
            return found
    for tree in made.kustomizations:
        found = _common(tree, route)
        if found is not None:
            return found
    return None


def _at(tree: Node, one: Any, route: Route, key: bool) -> Node | None:
    """The node at a route of the object in a tree that is the object, or a part of it."""
    field = ""
    written: Scalar | None = None
    for step in route:
        inner: Node | None = None
        try:
            one = one[step]
        except (KeyError, IndexError, TypeError):
            one = None
        if isinstance(step, str):
            field = step
            inner = tree.get(step) if isinstance(tree, Mapping) else None
            written = tree.key(step) if isinstance(tree, Mapping) else None
        elif isinstance(tree, Sequence):
            inner = _matching(tree, one, LIST_KEYS.get(field, ()), step)
        if inner is None:
            return None
        tree = inner
    if key and written is not None and isinstance(route[-1], str) and not isinstance(tree, Scalar):
        return written
    return tree


def _matching(items: Sequence, wanted: Any, keys: tuple[str, ...], index: int) -> Node | None:
    if keys and isinstance(wanted, dict):
        for item in items:
            if isinstance(item, Mapping) and all(
                str(item.get(key, "")) == str(wanted.get(key, ""))  # type: ignore[misc]
                for key in keys
            ):
                return item
        return None
    return items[index] if index < len(items) else None


def _patched(operations: Sequence, route: Route, key: bool) -> Node | None:
    """The value of the last operation of a JSON patch at, or around, the route."""
    for operation in reversed(operations):
        pointer = operation.get("path") if isinstance(operation, Mapping) else None
        value = operation.get("value") if isinstance(operation, Mapping) else None
        if not isinstance(pointer, Scalar) or value is None:
            continue
        steps = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
        if len(steps) > len(route) or any(
            step not in ("-", str(part)) for step, part in zip(steps, route, strict=False)
        ):
            continue
        found, complete = descend(value, route[len(steps) :], key)
        if complete:
            return found
    return None


def _common(kustomization: Mapping, route: Route) -> Node | None:
    """A label or annotation that a kustomization adds."""
    if len(route) < 2:
        return None
    if route[-2] == "annotations":
        common = kustomization.get("commonAnnotations")
        return common.get(str(route[-1])) if isinstance(common, Mapping) else None
    groups = kustomization.get("labels") if route[-2] == "labels" else None
    for group in groups if isinstance(groups, Sequence) else ():
        pairs = group.get("pairs") if isinstance(group, Mapping) else None
        if isinstance(pairs, Mapping) and str(route[-1]) in pairs:
            return pairs[str(route[-1])]
    return None
