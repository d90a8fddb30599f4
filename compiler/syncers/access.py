"""What a syncer may do: one account for each folder that it follows, with what lies there alone.

The rights of a team's account hold in the namespaces of the team. The bindings in them are part of
`platform/`, so that they come and go with the namespace; the account for `platform/` may bind these
two roles, and no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from compiler.backends import backends
from compiler.platform.admission import PLURALS
from compiler.platform.namespaces import team_of
from compiler.syncers.site import ENDED, LABELS, PLATFORM, Object, named

if TYPE_CHECKING:
    from compiler.backends import Target

RBAC = "rbac.authorization.k8s.io"
# The account for a team, whatever its name: the role of all of them.
TEAM = "team"
# A server-side apply of something new needs both of create and patch.
_APPLY = ("get", "list", "watch", "create", "patch")
_ALL = (*_APPLY, "delete")


class Kind(Struct, frozen=True):
    """A kind of object, and what a syncer does with objects of it."""

    group: str
    kind: str
    resource: str
    verbs: tuple[str, ...] = _ALL
    namespaced: bool = True


_CONFIG_MAP = Kind("", "ConfigMap", "configmaps")
# Namespaces, accounts of pods and the policy over tombstones are never pruned: no right to.
OF_PLATFORM = (
    Kind("", "Namespace", "namespaces", _APPLY, namespaced=False),
    Kind("", "ServiceAccount", "serviceaccounts", _APPLY),
    Kind(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        _APPLY,
        namespaced=False,
    ),
    Kind(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        _APPLY,
        namespaced=False,
    ),
    Kind("kueue.x-k8s.io", "ClusterQueue", "clusterqueues", namespaced=False),
    Kind("kueue.x-k8s.io", "Cohort", "cohorts", namespaced=False),
    Kind("kueue.x-k8s.io", "LocalQueue", "localqueues"),
    Kind("kueue.x-k8s.io", "ResourceFlavor", "resourceflavors", namespaced=False),
    Kind("kueue.x-k8s.io", "Topology", "topologies", namespaced=False),
    Kind("kueue.x-k8s.io", "WorkloadPriorityClass", "workloadpriorityclasses", namespaced=False),
    Kind(RBAC, "RoleBinding", "rolebindings"),
    Kind("scheduling.k8s.io", "PriorityClass", "priorityclasses", namespaced=False),
)
OF_ENDED = (Kind("", "ConfigMap", "configmaps", _APPLY),)


def of_teams() -> tuple[Kind, ...]:
    """What lies in a team's folder: runs of every back end, and ConfigMaps."""
    targets: Iterable[Target] = (backend.target for backend in backends().values())
    runs = {
        Kind(target.api_version.rpartition("/")[0], target.kind, PLURALS[target.kind])
        for target in targets
    }
    return (_CONFIG_MAP, *sorted(runs, key=lambda kind: (kind.group, kind.kind)))


def accounts(home: str, teams: Iterable[str]) -> list[Object]:
    """The accounts that a syncer acts as, in a namespace of its own or of ours."""
    return [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": named(name), "namespace": home, "labels": dict(LABELS)},
            "automountServiceAccountToken": False,
        }
        for name in (PLATFORM, ENDED, *sorted(teams))
    ]


def roles(home: str) -> list[Object]:
    """The three roles, and the binding of that for `platform/`, which holds everywhere."""
    bind: Object = {
        "apiGroups": [RBAC],
        "resources": ["clusterroles"],
        "resourceNames": [named(ENDED), named(TEAM)],
        "verbs": ["bind"],
    }
    # Who creates a policy with parameters must be able to read all of them, and who binds it by a
    # selector must be able to list them (Kubernetes, authz.go of validatingadmissionpolicy and of
    # validatingadmissionpolicybinding in pkg/registry/admissionregistration).
    read: Object = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}
    return [
        _role(TEAM, _rules(of_teams())),
        _role(ENDED, _rules(OF_ENDED)),
        _role(PLATFORM, [*_rules(OF_PLATFORM), bind, read]),
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": named(PLATFORM), "labels": dict(LABELS)},
            **_ends(PLATFORM, home, PLATFORM),
        },
    ]


def bindings(home: str, spaces: Mapping[str, str]) -> dict[str, list[Object]]:
    """The bindings in each namespace, by file below `platform/`; `spaces` are published files of
    namespaces by name."""
    made: dict[str, list[Object]] = {}
    for namespace, text in spaces.items():
        team = team_of(text)
        if team is not None:
            made[f"access/{namespace}.yaml"] = [
                _binding(namespace, ENDED, home, ENDED),
                _binding(namespace, TEAM, home, team),
            ]
    return made


def _binding(namespace: str, role: str, home: str, account: str) -> Object:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": named(role), "namespace": namespace, "labels": dict(LABELS)},
        **_ends(role, home, account),
    }


def _ends(role: str, home: str, account: str) -> Object:
    return {
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": named(role)},
        "subjects": [{"kind": "ServiceAccount", "name": named(account), "namespace": home}],
    }


def _role(name: str, rules: list[Object]) -> Object:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": named(name), "labels": dict(LABELS)},
        "rules": rules,
    }


def _rules(kinds: Iterable[Kind]) -> list[Object]:
    return [
        {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}
        for (group, verbs), resources in _grouped(kinds)
    ]


def _grouped(kinds: Iterable[Kind]) -> Iterator[tuple[tuple[str, tuple[str, ...]], list[str]]]:
    """The resources of each group with the same verbs, in the order of the kinds."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for kind in kinds:
        found.setdefault((kind.group, kind.verbs), []).append(kind.resource)
    yield from found.items()
