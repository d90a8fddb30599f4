"""What a syncer would do with a published tree, read from its objects with no code of ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

Object = dict[str, Any]

# The API's own names (kubectl api-resources); what is missing here fails a test.
RESOURCES = {
    ("", "ConfigMap"): "configmaps",
    ("", "Namespace"): "namespaces",
    ("", "ServiceAccount"): "serviceaccounts",
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): "validatingadmissionpolicies",
    (
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
    ): "validatingadmissionpolicybindings",
    ("batch", "Job"): "jobs",
    ("kubeflow.org", "PyTorchJob"): "pytorchjobs",
    ("kueue.x-k8s.io", "ClusterQueue"): "clusterqueues",
    ("kueue.x-k8s.io", "Cohort"): "cohorts",
    ("kueue.x-k8s.io", "LocalQueue"): "localqueues",
    ("kueue.x-k8s.io", "ResourceFlavor"): "resourceflavors",
    ("kueue.x-k8s.io", "Topology"): "topologies",
    ("kueue.x-k8s.io", "WorkloadPriorityClass"): "workloadpriorityclasses",
    ("rbac.authorization.k8s.io", "RoleBinding"): "rolebindings",
    ("scheduling.k8s.io", "PriorityClass"): "priorityclasses",
}
CLUSTER_WIDE = {
    "clusterqueues",
    "cohorts",
    "namespaces",
    "priorityclasses",
    "resourceflavors",
    "topologies",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "workloadpriorityclasses",
}
FLUX_KEEPS = ("kustomize.toolkit.fluxcd.io/prune", "disabled")


def objects(files: Mapping[str, str], under: str) -> list[Object]:
    """All objects of a folder's files, but kustomizations."""
    made: list[Object] = []
    for path, text in sorted(files.items()):
        if path.startswith(f"{under}/") and not path.endswith("/kustomization.yaml"):
            made += [item for item in yaml.safe_load_all(text) if isinstance(item, dict)]
    return made


def group(item: Object) -> str:
    """The API group of an object."""
    return item["apiVersion"].rpartition("/")[0]


def of_kind(items: Iterable[Object], kind: str) -> dict[str, Object]:
    """The objects of a kind by name; a name twice is an error."""
    found: dict[str, Object] = {}
    for item in items:
        if item["kind"] == kind:
            assert item["metadata"]["name"] not in found
            found[item["metadata"]["name"]] = item
    return found


class Rights:
    """RBAC over the roles and bindings of a tree, as the API server reads them."""

    def __init__(self, items: Iterable[Object]) -> None:
        items = list(items)
        self.roles = of_kind(items, "ClusterRole")
        self.bindings = [i for i in items if i["kind"] in ("RoleBinding", "ClusterRoleBinding")]

    def may(self, account: str, verb: str, item: Object) -> bool:
        """Whether an account, as namespace/name, may do something with an object."""
        resource = RESOURCES[group(item), item["kind"]]
        space = "" if resource in CLUSTER_WIDE else item["metadata"]["namespace"]
        name = item["metadata"]["name"]
        return self.allowed(account, verb, group(item), resource, space, name)

    def allowed(
        self, account: str, verb: str, api: str, resource: str, space: str, name: str = ""
    ) -> bool:
        """The same, for any request."""
        for binding in self.bindings:
            if binding["kind"] == "RoleBinding" and binding["metadata"]["namespace"] != space:
                continue
            who = {f"{one['namespace']}/{one['name']}" for one in binding["subjects"]}
            assert {one["kind"] for one in binding["subjects"]} == {"ServiceAccount"}
            if account not in who:
                continue
            for rule in self.roles[binding["roleRef"]["name"]]["rules"]:
                if (
                    api in rule["apiGroups"]
                    and resource in rule["resources"]
                    and verb in rule["verbs"]
                    and name in rule.get("resourceNames", [name])
                ):
                    return True
        return False


def permitted(project: Object, item: Object, server: str) -> bool:
    """Whether an AppProject lets an object be synced (Argo CD, app_project_types.go)."""
    spec = project["spec"]
    pair = {"group": group(item), "kind": item["kind"]}
    if RESOURCES[group(item), item["kind"]] in CLUSTER_WIDE:
        return pair in spec["clusterResourceWhitelist"]
    place = {"server": server, "namespace": item["metadata"]["namespace"]}
    return pair in spec["namespaceResourceWhitelist"] and place in spec["destinations"]
