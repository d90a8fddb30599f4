"""`overlays/<cluster>/sync/`: applied by a person, never by the syncer that it is for.

Whoever may write a Kustomization or an Application may have anything applied as anybody, so the
account for `platform/` cannot. A person applies the folder once, and again when a team has come.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from compiler.overlay import API, NOTICE
from compiler.syncers import access
from compiler.syncers.site import ACCESS, Object, Site, Written
from compiler.yamlout import dump, dump_all

if TYPE_CHECKING:
    from compiler.policy.cluster import Cluster
    from compiler.repository import Policy

DEFAULT_BRANCH = "main"
_TEAM_FILE = "sentinel.yaml"


def folder_of(cluster: str) -> str:
    """The folder of a cluster's syncer, from the repository's root."""
    return f"overlays/{cluster}/sync"


def syncer_of(cluster: Cluster) -> tuple[Any, Any] | None:
    """The module of a cluster's syncer and what policy says of it; None without one.

    Two are an error of policy (`two-syncers`); the first one is written.
    """
    if cluster.sync is None:
        return None
    found = next(iter(cluster.sync.named.items()), None)
    return None if found is None else (import_module(f"compiler.syncers.{found[0]}"), found[1])


def teams_in(cluster: str, paths: Iterable[str]) -> list[str]:
    """The teams that have a folder on a cluster."""
    found = (path.split("/") for path in paths)
    return sorted(p[2] for p in found if p[:2] == ["overlays", cluster] and p[3:] == [_TEAM_FILE])


def namespaces_in(cluster: str, paths: Iterable[str]) -> list[str]:
    """The namespaces that the files of `platform/` and `ended/` put something into."""
    found: set[str] = set()
    for path in paths:
        for folder in (f"overlays/{cluster}/platform/namespaces/", f"overlays/{cluster}/ended/"):
            inner = path.removeprefix(folder)
            if inner != path and not path.endswith("/kustomization.yaml"):
                found.add(inner.partition(".")[0])
    return sorted(found)


def sync_files(
    policy: Policy,
    cluster: str,
    teams: Mapping[str, Sequence[str]],
    namespaces: Sequence[str],
    branch: str | None,
    published: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The folder's files by path from the root; none where policy names no syncer.

    `branch` is the one that publish is known to write. The files are as they were published, where
    the cluster's policy cannot be read or is gone while runs are still there: what cannot be read
    is not absent.
    """
    document = policy.clusters.get(cluster)
    if document is None:
        return dict(published or {})
    found = syncer_of(document.value)
    if found is None:
        return {}
    module, setting = found
    known = document.value.versions
    versions = {} if known is None else {k: v for k, v in known.model_dump().items() if v}
    site = Site(cluster, teams, namespaces, branch or DEFAULT_BRANCH, versions)
    written: Written = module.files(setting, site)
    header = f"# What syncs {cluster}. {NOTICE}\n"
    root = folder_of(cluster)
    made = {f"{root}/{name}": header + dump_all(part) for name, part in written.files.items()}
    made |= {f"{root}/{name}": header + dump_all(part) for name, part in written.beside.items()}
    home: str = module.home(setting)
    own: list[Object] = [*access.accounts(home, teams), *access.roles(home)]
    if written.makes_home:
        own.insert(0, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home}})
    made[f"{root}/{ACCESS}/objects.yaml"] = header + dump_all(own)
    made[f"{root}/{ACCESS}/kustomization.yaml"] = header + dump(
        {**API, "resources": ["objects.yaml"]}
    )
    listed = [*([] if written.elsewhere else [ACCESS]), *written.files]
    made[f"{root}/kustomization.yaml"] = header + dump({**API, "resources": listed})
    return made
