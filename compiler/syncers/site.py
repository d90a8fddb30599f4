"""What a syncer is to follow on a cluster, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

Object = dict[str, Any]

# Folders of a cluster beside those of its teams, which no team may be called after.
PLATFORM, ENDED, ACCESS = "platform", "ended", "access"
NAME = "runwright"
LABELS = {"app.kubernetes.io/managed-by": NAME}


class Site(Struct):
    """A cluster as its syncer has to know it.

    `teams` are those with a folder in the published tree, with their namespaces, today's first;
    `namespaces` are all in which anything is put, tombstones too. `branch` is what publish writes.
    """

    cluster: str
    teams: Mapping[str, Sequence[str]]
    namespaces: Sequence[str]
    branch: str
    versions: Mapping[str, str] = field(default_factory=dict[str, str])

    def folder(self, name: str, below: str | None) -> str:
        """A folder of the cluster from the root of the git repository."""
        inner = f"overlays/{self.cluster}/{name}"
        steps = [step for step in (below or "").split("/") if step not in ("", ".")]
        prefix = "/".join(steps)
        return f"{prefix}/{inner}" if prefix else inner


class Written(Struct):
    """The files of a syncer, by path below `sync/`, in the order in which people apply them.

    `beside` are files that the kustomization does not list: parts of objects of somebody else.
    `makes_home` says that the namespace of the accounts is ours to make, `elsewhere` that the
    syncer itself runs on another cluster.
    """

    files: dict[str, list[Object]]
    beside: dict[str, list[Object]] = field(default_factory=dict[str, list[Object]])
    makes_home: bool = False
    elsewhere: bool = False


def named(what: str) -> str:
    """The name of what stands for a folder of the cluster: an account, a Kustomization."""
    return f"{NAME}-{what}"
