"""What a run's pods mount: every path, what is behind it, and where the declaration says so."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import normpath
from typing import Any

from msgspec import Struct

from compiler.containers import MAIN, passed
from compiler.model import Member, Mount, Route, Run, for_the_run
from compiler.nodes import Mapping, Sequence
from compiler.policy.cluster import Claim
from compiler.site import Site


class Mounted(Struct, frozen=True):
    """Something at a path of a container.

    `kind` is a mount's kind, `file`, or `other` for a volume of `pod:` that is none of these.
    `path` is normal (no `//`, no `/` at its end) and empty where `pod:` has a claim that no
    container mounts. `route` is the whole entry, `source_route` the name of what is mounted;
    `by` says which field: mounts, checkpoint, files or pod. `sub_path` is the folder of the volume
    that is mounted, "" for all of it.
    """

    container: str
    path: str
    kind: str
    source: str
    read_only: bool
    route: Route
    source_route: Route
    by: str
    sub_path: str = ""


@for_the_run
def mounted(run: Run, member: Member) -> list[Mounted]:
    """Everything that the pods of a member mount, in the order of the declaration."""
    found = list(_mounts(member.mounts, MAIN, run.routes(member, "mounts")))
    if run.checkpoint is not None and run.checkpoint.claim is not None:
        path, claim = normal(run.checkpoint.path), run.checkpoint.claim
        if not any(m.path == path and m.kind == "claim" and m.source == claim for m in found):
            route: Route = ("checkpoint", "claim")
            found.append(Mounted(MAIN, path, "claim", claim, False, route, route, "checkpoint"))
    for file in member.files:
        route = run.routes(member, "files", file.path)
        found.append(
            Mounted(MAIN, normal(file.path), "file", file.source, True, route, route, "files")
        )
    for kind, companions in (("sidecars", member.sidecars), ("init", member.init)):
        for index, companion in enumerate(companions):
            at = run.routes(member, kind, index, "mounts")
            found += _mounts(companion.mounts, companion.name, at)
    return [*found, *_passed(run, member)]


def normal(path: str) -> str:
    """A path without doubled slashes and without one at its end."""
    return normpath("/" + path.lstrip("/"))


def within(path: str, folder: str) -> bool:
    """Whether a normal path is inside a folder, and not the folder itself."""
    return path.startswith(folder.rstrip("/") + "/") and path != folder


def claims(run: Run) -> Iterator[tuple[Member, Mounted]]:
    """Every claim that the run mounts, with the member whose pods mount it."""
    for member in run.members:
        for item in mounted(run, member):
            if item.kind == "claim":
                yield member, item


def catalogued(run: Run, site: Site) -> Iterator[tuple[Member, Mounted, Claim]]:
    """The claims that the cluster has and the team may mount, with their catalogue entries."""
    known = site.cluster.value.claims or {}
    allowed = site.team.value.claims
    for member, item in claims(run):
        if item.source in known and (allowed is None or item.source in allowed):
            yield member, item, known[item.source]


def _mounts(mounts: tuple[Mount, ...], container: str, at: Route) -> Iterator[Mounted]:
    for mount in mounts:
        route = (*at, mount.path)
        source = (*route, mount.kind)
        yield Mounted(
            container,
            normal(mount.path),
            mount.kind,
            mount.source,
            mount.read_only,
            route,
            source,
            "mounts",
            mount.sub_path or "",
        )


def _passed(run: Run, member: Member) -> Iterator[Mounted]:
    """The volumes of `pod:`, at each path where one of its containers mounts them."""
    volumes = {
        str(node.get("name", "")): (route, node)
        for route, node in passed(run, member, "spec", "volumes")
    }
    used: set[str] = set()
    for kind in ("containers", "initContainers"):
        for route, container in passed(run, member, "spec", kind):
            entries: Any = container.get("volumeMounts")
            for index, entry in enumerate(entries) if isinstance(entries, Sequence) else ():
                if not isinstance(entry, Mapping):
                    continue
                name, path = str(entry.get("name", "")), str(entry.get("mountPath", ""))
                if name not in volumes or not path:
                    continue
                used.add(name)
                read_only = str(entry.get("readOnly", "")) == "true"
                at = (*route, "volumeMounts", index)
                # A path with variables stays as it is: whoever compares paths must know.
                sub = str(entry.get("subPathExpr", "") or entry.get("subPath", ""))
                yield _volume(
                    *volumes[name], str(container.get("name", "")), normal(path), read_only, at, sub
                )
    for name, (route, node) in volumes.items():
        if name not in used:
            yield _volume(route, node, "", "", False, route)


def _volume(
    at: Route,
    node: Mapping,
    container: str,
    path: str,
    read_only: bool,
    route: Route,
    sub_path: str = "",
) -> Mounted:
    claim = node.get("persistentVolumeClaim")
    if isinstance(claim, Mapping) and "claimName" in claim:
        read_only = read_only or str(claim.get("readOnly", "")) == "true"
        source_route = (*at, "persistentVolumeClaim", "claimName")
        name = str(claim["claimName"])
        return Mounted(
            container, path, "claim", name, read_only, route, source_route, "pod", sub_path
        )
    name = str(node.get("name", ""))
    return Mounted(container, path, "other", name, read_only, route, at, "pod", sub_path)
