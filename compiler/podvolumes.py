"""The volumes of a pod, and the ConfigMaps that files of the repository are mounted from."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from compiler.model import Member, Mount, Run
from compiler.passthrough import SHARED_MEMORY

Object = dict[str, Any]


class Volumes:
    """The volumes of a pod, each once however often it is mounted."""

    def __init__(self) -> None:
        self.items: list[Object] = []
        self._names: dict[tuple[str, str], str] = {}

    def mount(self, mount: Mount) -> Object:
        distinct = mount.path if mount.kind == "scratch" else mount.source
        name = self._names.get((mount.kind, distinct))
        if name is None:
            name = self._name(mount.kind, distinct)
            self._names[(mount.kind, distinct)] = name
            self.items.append({"name": name, **_source(mount)})
        entry: Object = {"name": name, "mountPath": mount.path}
        if mount.read_only:
            entry["readOnly"] = True
        if mount.sub_path is not None:
            entry["subPath"] = mount.sub_path
        return entry

    def files(self, run: Run, member: Member) -> list[Object]:
        self.items.append({"name": "files", "configMap": {"name": files_name(run, member)}})
        return [
            {
                "name": "files",
                "mountPath": file.path,
                "subPath": _file_key(index, file.source),
                "readOnly": True,
            }
            for index, file in enumerate(member.files)
        ]

    def shared_memory(self, size: str) -> Object:
        self.items.append({"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": size}})
        return {"name": "shm", "mountPath": SHARED_MEMORY}

    def _name(self, kind: str, source: str) -> str:
        prefix = {"claim": "", "config_map": "config-", "secret": "secret-", "scratch": "scratch-"}[
            kind
        ]
        word = "".join(c if c.isalnum() else "-" for c in source.lower()).strip("-")
        name = f"{prefix}{word}"
        taken = {item["name"] for item in self.items} | {"shm", "files"}
        if len(name) > 63 or not name.isascii() or name in taken:
            digest = hashlib.sha256(f"{kind}:{source}".encode()).hexdigest()[:8]
            name = (
                f"{prefix}{word[:40].strip('-')}-{digest}"
                if word.isascii()
                else f"{prefix}{digest}"
            )
        return name


def _source(mount: Mount) -> Object:
    if mount.kind == "claim":
        # Whether the volume itself is read-only is said at each mount, for another mount of the
        # same claim may write.
        return {"persistentVolumeClaim": {"claimName": mount.source}}
    if mount.kind == "config_map":
        return {"configMap": {"name": mount.source}}
    if mount.kind == "secret":
        return {"secret": {"secretName": mount.source}}
    assert mount.size is not None
    return {"emptyDir": {"sizeLimit": mount.size.text}}


def _file_key(index: int, source: str) -> str:
    name = "".join(c if c.isalnum() or c in "-_." else "_" for c in source.rpartition("/")[2])
    return f"{index}-{name}"


def files_name(run: Run, member: Member) -> str:
    """The name of the ConfigMap with a member's files: another content is another ConfigMap."""
    content = hashlib.sha256()
    for file in member.files:
        content.update(f"{file.path}\0{file.source}\0{file.digest}\0".encode())
    return f"{run.identity.job}-files-{content.hexdigest()[:10]}"


def files_objects(run: Run) -> list[Object]:
    """The ConfigMaps that a run's files are mounted from."""
    made: dict[str, Object] = {}
    for member in run.members:
        if not member.files:
            continue
        name = files_name(run, member)
        data: Object = {}
        binary: Object = {}
        for index, file in enumerate(member.files):
            key = _file_key(index, file.source)
            try:
                data[key] = _printable(file.content.decode())
            except ValueError:
                binary[key] = base64.b64encode(file.content).decode()
        made[name] = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": run.identity.namespace},
            "immutable": True,
            **({"data": data} if data else {}),
            **({"binaryData": binary} if binary else {}),
        }
    return list(made.values())


def _printable(text: str) -> str:
    if any((ord(c) < 32 and c not in "\t\n\r") or ord(c) == 127 for c in text):
        raise ValueError("control characters go into binaryData")
    return text
