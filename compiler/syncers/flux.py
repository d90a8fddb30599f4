"""Flux: one GitRepository, and one Kustomization for each folder of the cluster.

Nothing waits for health: a run is healthy while it waits and while it trains for days, and a new
commit must not wait for either. Deleting a Kustomization deletes nothing that it applied: runs are
stopped by the tree alone.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from compiler.syncers.site import ENDED, LABELS, NAME, PLATFORM, Object, Site, Written, named

if TYPE_CHECKING:
    from compiler.policy.sync import FluxSync

API, SOURCE_API = "kustomize.toolkit.fluxcd.io/v1", "source.toolkit.fluxcd.io/v1"
# The name of a Kustomization becomes the value of a label on all that it applies.
_LONGEST = 63


def home(setting: FluxSync) -> str:
    """Flux's namespace: a Kustomization acts as an account beside it."""
    return setting.namespace or "flux-system"


def files(setting: FluxSync, site: Site) -> Written:
    """The source, and the Kustomizations of the platform, of ended runs and of each team."""
    space = home(setting)
    made = {
        "source.yaml": [_source(setting, site)],
        "platform.yaml": [
            # Half an hour without a namespace that somebody deleted would be long.
            _kustomization(setting, site, PLATFORM, "10m", prune=True)
        ],
        "ended.yaml": [_kustomization(setting, site, ENDED, "10m", prune=False)],
    }
    for team in sorted(site.teams):
        one = _kustomization(setting, site, team, "1h", prune=True)
        one["spec"]["dependsOn"] = [_applied_once(PLATFORM), _applied_once(ENDED)]
        made[f"teams/{team}.yaml"] = [one]
    for objects in made.values():
        for item in objects:
            item["metadata"] |= {"namespace": space, "labels": dict(LABELS)}
    return Written(made)


def _source(setting: FluxSync, site: Site) -> Object:
    spec: Object = {
        "interval": "1m",
        "timeout": "1m",
        "url": setting.url,
        "ref": {"branch": setting.branch or site.branch},
    }
    if setting.secret is not None:
        spec["secretRef"] = {"name": setting.secret}
    return {
        "apiVersion": SOURCE_API,
        "kind": "GitRepository",
        "metadata": {"name": NAME},
        "spec": spec,
    }


def _kustomization(
    setting: FluxSync, site: Site, folder: str, interval: str, *, prune: bool
) -> Object:
    return {
        "apiVersion": API,
        "kind": "Kustomization",
        "metadata": {"name": kustomization_name(folder)},
        "spec": {
            "interval": interval,
            "retryInterval": "1m",
            "timeout": "3m",
            "sourceRef": {"kind": "GitRepository", "name": NAME},
            "path": f"./{site.folder(folder, setting.path)}",
            "prune": prune,
            "deletionPolicy": "Orphan",
            "force": False,
            "wait": False,
            "serviceAccountName": named(folder),
        },
    }


def _applied_once(folder: str) -> Object:
    """Runs come after what they need; but what breaks later keeps nobody from stopping theirs.

    The expression takes the place of Flux's own check, which asks for the newest revision.
    """
    return {
        "name": kustomization_name(folder),
        "readyExpr": "has(dep.status) && has(dep.status.lastAppliedRevision)",
    }


def kustomization_name(folder: str) -> str:
    """The name of the Kustomization of a folder."""
    name = named(folder)
    if len(name) <= _LONGEST:
        return name
    digest = sha256(folder.encode()).hexdigest()[:8]
    return f"{name[: _LONGEST - 9].rstrip('-')}-{digest}"
