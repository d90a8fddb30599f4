"""The proof that what kustomize builds from an overlay is the object that the model made."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

from msgspec import Struct
from msgspec.json import Encoder

from compiler.backends import Object
from compiler.diagnostics import CompilerError
from compiler.kustomize import Kustomize
from compiler.overlay import API, same
from compiler.processes import BuildFailed
from compiler.yamlout import dump

BATCH = 50
"""Overlays that one process builds: more are not faster each, and take more memory."""

MEMORY = 64 * 2**20
"""Bytes that must be free in memory for batches to be laid out there; one takes about one."""

Key = tuple[str, str, str, str]
_JSON = Encoder(order="sorted")


class Claim(Struct, frozen=True):
    """An overlay, and the objects that it is claimed to make.

    `folder` is its folder in the tree; `files` are all that kustomize reads, base included.
    """

    name: str
    folder: str
    cluster: str
    files: Mapping[str, bytes]
    objects: Sequence[Object]


class Unfaithful(CompilerError):
    """kustomize makes something else of an overlay than the model says: our own fault."""

    status = 3


def prove(
    claims: Sequence[Claim],
    kustomize: Kustomize,
    progress: Callable[[int], None] = lambda done: None,
    processes: int = 2,
) -> None:
    """Build the overlays, and compare what comes out with what was claimed.

    At most `processes` of kustomize run side by side; `progress` is told how many overlays are
    done. Raises Unfaithful for the first that differs or does not build, and Unavailable where
    kustomize cannot be used.
    """
    groups = list(batches(claims))
    done = 0
    with tempfile.TemporaryDirectory(prefix="runwright-build-", dir=_scratch()) as name:
        top = Path(name).resolve()
        folders = (_batch(top / str(n), group) for n, group in enumerate(groups))
        with closing(kustomize.build_many(folders, processes)) as built:
            for number, group in enumerate(groups):
                try:
                    objects = next(built)
                except BuildFailed as failed:
                    raise _unbuilt(top / str(number), group, kustomize, failed) from None
                _compare(group, objects, kustomize)
                shutil.rmtree(top / str(number), ignore_errors=True)
                done += len(group)
                progress(done)


def _scratch() -> str | None:
    """Where the overlays to prove are laid out: in memory where there is enough of it."""
    memory = "/dev/shm"  # noqa: S108 (a private folder is made in it)
    try:
        return memory if shutil.disk_usage(memory).free > MEMORY else None
    except OSError:
        return None


def batches(claims: Sequence[Claim]) -> Iterator[list[Claim]]:
    """The claims in groups that one process can build: one cluster, and no object twice."""
    by_cluster: dict[str, list[Claim]] = {}
    for claim in claims:
        by_cluster.setdefault(claim.cluster, []).append(claim)
    for group in by_cluster.values():
        open_batches: list[tuple[list[Claim], set[Key]]] = []
        for claim in group:
            keys = {key(one) for one in claim.objects}
            place = next(
                (b for b in open_batches if len(b[0]) < BATCH and not b[1] & keys),
                None,
            )
            if place is None:
                place = (list[Claim](), set[Key]())
                open_batches.append(place)
            place[0].append(claim)
            place[1].update(keys)
            if len(place[0]) == BATCH:
                open_batches = [batch for batch in open_batches if batch is not place]
                yield place[0]
        yield from (batch for batch, _ in open_batches)


def key(one: Object) -> Key:
    """By what Kubernetes, and kustomize within one build, tells objects apart."""
    metadata = cast("Object", one.get("metadata") or {})
    return (
        str(one.get("apiVersion")),
        str(one.get("kind")),
        str(metadata.get("namespace", "")),
        str(metadata.get("name")),
    )


def difference(wanted: Any, built: Any, pointer: str = "") -> str | None:
    """The first place at which two values differ, with both, or None where they are the same."""
    if isinstance(wanted, dict) and isinstance(built, dict):
        left, right = cast("Object", wanted), cast("Object", built)
        for name in [*left, *(name for name in right if name not in left)]:
            if name not in left or name not in right:
                side = "kustomize adds" if name not in left else "kustomize leaves out"
                return f"{pointer}/{name}: {side} it"
            if found := difference(left[name], right[name], f"{pointer}/{name}"):
                return found
        return None
    if isinstance(wanted, list) and isinstance(built, list):
        first, second = cast("list[Any]", wanted), cast("list[Any]", built)
        if len(first) != len(second):
            return f"{pointer}: {len(first)} items in the model, {len(second)} from kustomize"
        for index, pair in enumerate(zip(first, second, strict=True)):
            if found := difference(*pair, f"{pointer}/{index}"):
                return found
        return None
    if same(wanted, built):
        return None
    return f"{pointer}: {_shown(wanted)} in the model, {_shown(built)} from kustomize"


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _batch(folder: Path, group: Sequence[Claim]) -> Path:
    """Lay out a batch in a folder, with a kustomization over all of it."""
    folder.mkdir()
    files = {name: data for claim in group for name, data in claim.files.items()}
    parents = {name.rpartition("/")[0] for name in files}
    for name in sorted({above for parent in parents for above in _with_those_above(parent)}):
        (folder / name).mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    kustomization: Object = {**API, "resources": [claim.folder for claim in group]}
    (folder / "kustomization.yaml").write_text(dump(kustomization), "utf-8")
    return folder


def _with_those_above(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def _compare(group: Sequence[Claim], objects: Sequence[Object], kustomize: Kustomize) -> None:
    built = {key(one): one for one in objects}
    for claim in group:
        for one in claim.objects:
            made = built.pop(key(one), None)
            if made is None:
                what = f"{one['kind']} {one['metadata']['name']} is missing"
                raise _unfaithful(claim.name, kustomize, what)
            if not _equal(one, made):
                raise _unfaithful(claim.name, kustomize, difference(one, made) or "")
    for _, kind, _, name in built:
        raise _unfaithful(group[0].name, kustomize, f"{kind} {name} is nobody's")


def _equal(one: Object, other: Object) -> bool:
    """`same` of two objects with text for keys, in a fraction of the time.

    JSON tells 1, 1.0 and true apart.
    """
    return _JSON.encode(one) == _JSON.encode(other)


def _unfaithful(name: str, kustomize: Kustomize, what: str) -> Unfaithful:
    return Unfaithful(
        f"the overlay of {name} does not build to its model with {kustomize.name}: {what}",
        "this is a fault of the compiler: report it with the declaration; nothing was written",
    )


def _unbuilt(
    tree: Path, group: Sequence[Claim], kustomize: Kustomize, failed: BuildFailed
) -> Unfaithful:
    """Whose overlay it is that stopped a batch."""
    for claim in group:
        try:
            kustomize.build(tree / claim.folder)
        except BuildFailed as own:
            return _unfaithful(claim.name, kustomize, str(own))
    return _unfaithful(f"{group[0].name} and others", kustomize, str(failed))
