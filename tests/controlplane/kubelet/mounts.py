"""The volumes of a pod as folders of this machine.

A claim is one folder for all pods of its namespace, and outlives them. It is there whether or not
the API server has the PersistentVolumeClaim: nothing here provides volumes.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from controlplane.kubelet.expansion import Lookup, NotThere, data_of, field

Object = dict[str, Any]
# What stays this machine's own.
KEPT = ("/dev", "/proc", "/sys")


class Mounts:
    """The volumes of one pod, below `folder`; claims lie below `claims`."""

    def __init__(self, pod: Object, folder: Path, claims: Path, lookup: Lookup) -> None:
        self._pod = pod
        self._folder = folder
        self._claims = claims
        self._lookup = lookup
        self._volumes = {one["name"]: one for one in pod["spec"].get("volumes") or []}
        self._made: dict[str, Path] = {}
        self._fresh: list[Path] = []

    def of(self, container: Object) -> dict[str, Path]:
        """The container's paths, with what is there. Raises NotThere for a missing source."""
        found: dict[str, Path] = {}
        for mount in container.get("volumeMounts") or []:
            path = str(PurePosixPath(mount["mountPath"]))
            if any(path == kept or path.startswith(kept + "/") for kept in KEPT):
                continue
            place = self._volume(mount["name"])
            sub = mount.get("subPath")
            if sub:
                place = place.joinpath(*(part for part in PurePosixPath(sub).parts if part != ".."))
                if not place.exists():
                    place.mkdir(parents=True)
            found[path] = place
        return found

    def files(self) -> list[Path]:
        """The files of ConfigMaps and Secrets that were laid out since this was last asked."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def _volume(self, name: str) -> Path:
        if name not in self._made:
            self._made[name] = self._laid_out(self._volumes[name])
        return self._made[name]

    def _laid_out(self, volume: Object) -> Path:
        claim = volume.get("persistentVolumeClaim")
        if claim is not None:
            place = self._claims / self._pod["metadata"]["namespace"] / claim["claimName"]
            place.mkdir(parents=True, exist_ok=True)
            return place
        place = self._folder / volume["name"]
        place.mkdir(parents=True, exist_ok=True)
        projected = (volume.get("projected") or {}).get("sources")
        for source in projected if projected is not None else [volume]:
            for path, content in self._contents(source).items():
                file = place / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
                self._fresh.append(file)
        return place

    def _contents(self, source: Object) -> dict[str, bytes]:
        for kind, key in (("ConfigMap", "configMap"), ("Secret", "secret")):
            if key in source:
                return self._keys(kind, source[key])
        shown = source.get("downwardAPI")
        if shown is not None:
            return {
                item["path"]: field(self._pod, item["fieldRef"]["fieldPath"]).encode()
                for item in shown.get("items") or []
                if "fieldRef" in item
            }
        return {}

    def _keys(self, kind: str, source: Object) -> dict[str, bytes]:
        name = source.get("name") or source.get("secretName")
        found = self._lookup(kind, name)
        if found is None:
            if source.get("optional"):
                return {}
            raise NotThere(f'{kind.lower()} "{name}" not found')
        data = data_of({"kind": kind, **found})
        items = source.get("items")
        if items is None:
            return data
        missing = [item["key"] for item in items if item["key"] not in data]
        if missing and not source.get("optional"):
            raise NotThere(f"references non-existent config key: {missing[0]}")
        return {item["path"]: data[item["key"]] for item in items if item["key"] in data}
