"""Tombstones: the second layer, in the cluster, that keeps an ended run from coming back.

One small ConfigMap per ended run, never pruned. `compiler.platform.admission` has the policy that
refuses to create a training object whose name has one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from compiler.nodes import plain
from compiler.overlay import API, NOTICE
from compiler.platform.admission import LABEL
from compiler.platform.namespaces import TEAM
from compiler.runs.entries import Entry
from compiler.source import decode
from compiler.tree import read
from compiler.yamlout import dump

Object = dict[str, Any]
_TEAM = re.compile(rf'^ *{TEAM}: "?([a-z0-9-]+)"?$', re.MULTILINE)


def tombstone(run: Entry, team: str, namespace: str) -> Object:
    """The ConfigMap that stands for an ended run of a team."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"ended-{run.name}",
            "namespace": namespace,
            "labels": {LABEL: "true", TEAM: team, "app.kubernetes.io/managed-by": "runwright"},
            "annotations": {
                "kustomize.toolkit.fluxcd.io/prune": "disabled",
                "kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent",
                "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
                "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
            },
        },
        # Nothing that is learned later: what was created once is never changed.
        "data": {"run": run.name},
    }


def is_ended(run: Entry) -> bool:
    """Whether a run has a tombstone.

    Only one that was launched and is no longer listed: the object of a listed run may still have to
    be created again, by a syncer that was slow.
    """
    return run.state == "ended" and run.launched and not run.listed


def is_tombstone(path: str) -> bool:
    """Whether a file of `ended/` is a tombstone."""
    return path.endswith(".yaml") and not path.endswith("/kustomization.yaml")


def ended_files(
    cluster: str, runs: Iterable[tuple[str, str, Entry]], kept: Mapping[str, str] | None = None
) -> dict[str, str]:
    """`overlays/<cluster>/ended/`: a tombstone for each ended run.

       `runs` are (team, namespace, run).
    `kept` are the tombstones that are there already, by path:
       they never change.
    """
    folder = f"overlays/{cluster}/ended"
    header = f"# Runs of {cluster} that have ended. {NOTICE}\n"
    files: dict[str, str] = dict(kept or {})
    for team, namespace, run in runs:
        if is_ended(run):
            stone = dump(tombstone(run, team, namespace))
            files.setdefault(f"{folder}/{namespace}.{run.name}.yaml", stone)
    names = sorted(path.rpartition("/")[2] for path in files)
    files[f"{folder}/kustomization.yaml"] = header + dump({**API, "resources": names})
    return files


def known(kept: Mapping[str, str]) -> set[tuple[str, str]]:
    """The runs, as (team, name), that have a tombstone, in whichever namespace they were."""
    made: set[tuple[str, str]] = set()
    for path, text in kept.items():
        _, _, run = path.rpartition("/")[2].removesuffix(".yaml").partition(".")
        team = _TEAM.search(text)
        if team is not None:
            made.add((team[1], run))
    return made


def namespace_of(data: bytes) -> str:
    """The namespace that a file of an overlay names: an object's, or a JSON patch's; else ''."""
    source, _ = decode("", data, len(data))
    document = None if source is None else plain(read(source, mapping=False)[0])
    items = cast("list[Any]", document) if isinstance(document, list) else [document]
    for item in items:
        if not isinstance(item, dict):
            continue
        found: Any = None
        entry = cast("Object", item)
        if entry.get("path") == "/metadata/namespace":
            found = entry.get("value")
        elif entry.get("path") == "/metadata":
            found = cast("Object", entry.get("value") or {}).get("namespace")
        elif isinstance(entry.get("metadata"), dict):
            found = entry["metadata"].get("namespace")
        if isinstance(found, str):
            return found
    return ""
