"""The policy that refuses to create a run which has ended.

A ValidatingAdmissionPolicy over the tombstones (`compiler.runs.tombstones`). It looks for them in
the namespace of the object: a binding whose `paramRef` names no namespace looks there.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.platform.flavors import Object

LABEL = "runwright/tombstone"
NAME = "runwright-tombstones"
# Without it the next revert would start what has ended: taking it away is a person's decision.
KEPT = {
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
    "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
    "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
}
PLURALS = {"PyTorchJob": "pytorchjobs", "Job": "jobs", "TrainJob": "trainjobs"}


def objects(kinds: Iterable[tuple[str, str]]) -> list[Object]:
    """The policy and its binding.

    `kinds` are API versions with resources in the plural, such as ("kubeflow.org/v1",
    "pytorchjobs").
    """
    rules: list[Object] = []
    for api_version, resource in sorted(kinds):
        group, _, version = api_version.rpartition("/")
        rules.append(
            {
                "apiGroups": [group],
                "apiVersions": [version],
                "operations": ["CREATE"],
                "resources": [resource],
            }
        )
    policy: Object = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": NAME, "annotations": dict(KEPT)},
        "spec": {
            "failurePolicy": "Fail",
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "matchConstraints": {"resourceRules": rules},
            "validations": [
                {
                    "expression": "object.metadata.name != params.data.run",
                    "messageExpression": (
                        "'the run ' + object.metadata.name + ' has ended, and a run never starts"
                        " twice; `runwright bump` starts the next one'"
                    ),
                    "reason": "Invalid",
                }
            ],
        },
    }
    binding: Object = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": NAME, "annotations": dict(KEPT)},
        "spec": {
            "policyName": NAME,
            "validationActions": ["Deny"],
            "paramRef": {
                "selector": {"matchLabels": {LABEL: "true"}},
                "parameterNotFoundAction": "Allow",
            },
        },
    }
    return [policy, binding]
