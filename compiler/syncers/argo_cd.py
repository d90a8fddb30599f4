"""Argo CD: an AppProject and an Application for each folder of the cluster.

A run's `spec` is never compared, so that a launched run is never changed in place. `PruneLast` lets
no run go before its successor was taken: where the successor is refused, because it has ended
already, the run stays. No Application has a finalizer: deleting one deletes nothing else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compiler.syncers import lua
from compiler.syncers.access import OF_ENDED, OF_PLATFORM, Kind, of_teams
from compiler.syncers.site import ENDED, LABELS, NAME, PLATFORM, Object, Site, Written, named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compiler.policy.sync import ArgoCdSync

API = "argoproj.io/v1alpha1"
HERE = "https://kubernetes.default.svc"
# On the cluster itself, which need not be the one that Argo CD is on; no team may have it.
HOME = "runwright-sync"
# From here on a sync that is tried again takes the newest commit (`retry.refresh`).
_REFRESHING = (3, 2)


def home(setting: ArgoCdSync) -> str:
    """The namespace of the accounts, on the cluster that runs are on."""
    return HOME


def files(setting: ArgoCdSync, site: Site) -> Written:
    """The projects and Applications, and what Argo CD's own settings need."""
    spaces = [HOME, *(name for name in site.namespaces if name != HOME)]
    made = {
        "platform.yaml": [
            _project(setting, site, PLATFORM, OF_PLATFORM, spaces),
            _application(setting, site, PLATFORM, HOME, heal=True, options=["PruneLast=true"]),
        ],
        "ended.yaml": [
            _project(setting, site, ENDED, OF_ENDED, spaces),
            _application(setting, site, ENDED, HOME, heal=True, prune=False),
        ],
    }
    for team, homes in sorted(site.teams.items()):
        made[f"teams/{team}.yaml"] = [
            _project(setting, site, team, of_teams(), sorted(homes)),
            _of_team(setting, site, team, homes[0]),
        ]
    settings: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": setting.namespace or "argocd"},
        "data": lua.settings(),
    }
    elsewhere = setting.server not in (None, HERE)
    return Written(made, {"argocd-cm.yaml": [settings]}, makes_home=True, elsewhere=elsewhere)


def _of_team(setting: ArgoCdSync, site: Site, team: str, namespace: str) -> Object:
    """The Application of a team: runs are made once, and nothing heals by itself."""
    options = ["PruneLast=true", "RespectIgnoreDifferences=true"]
    made = _application(setting, site, team, namespace, heal=False, options=options)
    made["spec"]["ignoreDifferences"] = [
        {"group": kind.group, "kind": kind.kind, "jsonPointers": ["/spec"]}
        for kind in of_teams()
        if kind.group
    ]
    return made


def _application(
    setting: ArgoCdSync,
    site: Site,
    folder: str,
    namespace: str,
    *,
    heal: bool,
    prune: bool = True,
    options: Iterable[str] = (),
) -> Object:
    refreshes = _version(site.versions.get("argo_cd", "")) >= _REFRESHING
    retry: Object = {
        # A sync is tried again with the commit that failed: soon enough the next one must come.
        "limit": 5 if refreshes else 2,
        "backoff": {"duration": "10s", "factor": 2, "maxDuration": "1m"},
    }
    if refreshes:
        retry["refresh"] = True
    return {
        "apiVersion": API,
        "kind": "Application",
        # No `manifest-generate-paths`: with it, a commit that is compared while a sync goes on
        # counts as attempted, and is never applied (argo-cd 3.2.6: controller/appcontroller.go,
        # alreadyAttemptedSync; controller/state.go, revisionsMayHaveChanges).
        "metadata": _metadata(setting, site, folder),
        "spec": {
            "project": _name(site, folder),
            "source": {
                "repoURL": setting.url,
                "targetRevision": f"refs/heads/{setting.branch or site.branch}",
                "path": site.folder(folder, setting.path),
            },
            "destination": {"server": setting.server or HERE, "namespace": namespace},
            "syncPolicy": {
                "automated": {"prune": prune, "selfHeal": heal},
                "syncOptions": ["ApplyOutOfSyncOnly=true", *options],
                "retry": retry,
            },
        },
    }


def _project(
    setting: ArgoCdSync, site: Site, folder: str, kinds: Iterable[Kind], spaces: Iterable[str]
) -> Object:
    server = setting.server or HERE
    where = [{"server": server, "namespace": name} for name in spaces]
    allowed: dict[bool, list[Object]] = {True: [], False: []}
    for kind in kinds:
        allowed[kind.namespaced].append({"group": kind.group, "kind": kind.kind})
    return {
        "apiVersion": API,
        "kind": "AppProject",
        "metadata": _metadata(setting, site, folder),
        "spec": {
            "description": f"{folder} on {site.cluster}",
            "sourceRepos": [setting.url],
            "destinations": where,
            "clusterResourceWhitelist": allowed[False],
            "namespaceResourceWhitelist": allowed[True],
            # Heeded where Argo CD impersonates accounts (application.sync.impersonation.enabled).
            "destinationServiceAccounts": [
                {**place, "defaultServiceAccount": f"{HOME}:{named(folder)}"} for place in where
            ],
        },
    }


def _metadata(setting: ArgoCdSync, site: Site, folder: str) -> Object:
    return {
        "name": _name(site, folder),
        "namespace": setting.namespace or "argocd",
        "labels": dict(LABELS),
    }


def _name(site: Site, folder: str) -> str:
    """One Argo CD may serve several clusters; a team's name has no dot, so no two are alike."""
    return f"{NAME}.{site.cluster}.{folder}"


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"[0-9]+", text)[:2])
