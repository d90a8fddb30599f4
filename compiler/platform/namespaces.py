"""A team's namespace and the accounts of its pods. No syncer ever prunes them.

With a namespace goes everything in it: runs, claims, tombstones. It outlives its team.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compiler.platform.flavors import Object

if TYPE_CHECKING:
    from compiler.policy.cluster import Cluster
    from compiler.policy.team import Team

TEAM = "runwright/team"
MANAGED = {"app.kubernetes.io/managed-by": "runwright"}
# What others have put there (labels of a mesh, of a quota) stays: `Merge`.
KEPT = {
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
    "kustomize.toolkit.fluxcd.io/ssa": "Merge",
    "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
    "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
}
_TEAM = re.compile(rf'^ *{TEAM}: "?([a-z0-9-]+)"?$', re.MULTILINE)


def objects(cluster: Cluster, name: str, team: Team) -> list[Object]:
    """The Namespace of a team, and the ServiceAccounts that its jobs use by default."""
    labels = {**MANAGED, TEAM: name}
    level = cluster.pod_security
    if level is not None:
        for mode in ("enforce", "audit", "warn"):
            labels[f"pod-security.kubernetes.io/{mode}"] = level
    space: Object = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": team.namespace, "labels": labels, "annotations": dict(KEPT)},
    }
    accounts: list[Object] = [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {
                "name": account,
                "namespace": team.namespace,
                "labels": {**MANAGED, TEAM: name},
                "annotations": dict(KEPT),
            },
            "automountServiceAccountToken": False,
        }
        for account in accounts_of(team)
    ]
    return [space, *accounts]


def accounts_of(team: Team) -> list[str]:
    """The accounts that a team's jobs use where they name none themselves."""
    if team.defaults is None:
        return []
    found: set[str] = set()
    for member in (team.defaults, team.defaults.master):
        security = member.security if member is not None else None
        if security is not None and security.service_account is not None:
            found.add(security.service_account)
    return sorted(found)


def team_of(text: str) -> str | None:
    """The team in whose name a published file was written."""
    found = _TEAM.search(text)
    return None if found is None else found[1]
