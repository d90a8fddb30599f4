"""A cluster runs a version that cannot read what is written for it.

## What it does
Compares `versions:` of a cluster with the oldest version that knows what its overlays are made of:

- Kubernetes 1.30, for ValidatingAdmissionPolicy in `admissionregistration.k8s.io/v1`;
- Kueue 0.15, where it admits the runs, for its API `v1beta2` (not with `kueue_objects: false`);
- Argo CD 3.0, where it syncs the cluster, for tracking by annotation;
- kustomize-controller 1.8.5, where Flux does, for applying a run once and never again;
- training-operator 1.7, where PyTorchJobs run, for the `PET_*` variables of runs that are not
  elastic.

Versions that are not given are not judged, and neither is a part of a version that is not.

## Why it is bad
The API server refuses the objects of the platform, and a syncer that cannot apply one of them stops
there. An older Flux loses track of runs that it has applied once, and an older Argo CD, which knows
its objects by a label, prunes those that a controller has copied the label to. An older operator
starts the pods, and torchrun, which finds no address and no rank, waits on
each node for others that it does not know.

## Example
```sh
sed -i 's/kubernetes: 1.33.4/kubernetes: 1.28.9/' policy/clusters/west.yaml
```

## Use instead
```sh
sed -i 's/kubernetes: 1.33.4/kubernetes: 1.30.0/' policy/clusters/west.yaml
```

## References
- bergerx/kubectl-status#673
- fluxcd/kustomize-controller#1647
- kubeflow/trainer#1840
- tektoncd/pipeline#3202
- sigs.k8s.io/kueue: apis/kueue/v1beta2, from 0.15
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Severity
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.policy.cluster import Cluster
    from compiler.project import Project

RULE = Rule(
    code="OPS842",
    severity=Severity.ERROR,
    stage="repository",
    sources=(
        "bergerx/kubectl-status#673",
        "fluxcd/kustomize-controller#1647",
        "kubeflow/trainer#1840",
        "tektoncd/pipeline#3202",
        "sigs.k8s.io/kueue: apis/kueue/v1beta2, from 0.15",
    ),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The versions that are too old."""
    for cluster in project.policy.clusters.values():
        for field, name, first, why in _needed(cluster.value):
            versions = cluster.value.versions
            has = getattr(versions, field) if versions is not None else None
            found = re.findall(r"[0-9]+", has or "")[: len(first)]
            numbers = tuple(int(part) for part in found)
            if len(numbers) < 2 or numbers >= first[: len(numbers)]:
                continue
            wanted = ".".join(map(str, first))
            yield finding(
                "unsupported-version",
                cluster.place("versions", field),
                f"{name} {has} is older than {wanted}, the first with {why}",
                f"update it, and write {wanted} or newer",
            )


def _needed(cluster: Cluster) -> Iterator[tuple[str, str, tuple[int, ...], str]]:
    """Field, name and oldest version of what a cluster needs, and for what."""
    yield "kubernetes", "Kubernetes", (1, 30), "ValidatingAdmissionPolicy, which keeps ended runs"
    if (cluster.admission or "kueue") == "kueue" and cluster.kueue_objects is not False:
        yield "kueue", "Kueue", (0, 15), "the API v1beta2, in which its queues are written"
    if "pytorchjob" in (cluster.backend.single_node, cluster.backend.multi_node):
        yield "training_operator", "the training operator", (1, 7), "PET_* variables for torchrun"
    if cluster.sync is not None and cluster.sync.flux is not None:
        yield (
            "flux",
            "kustomize-controller",
            (1, 8, 5),
            "runs that are applied once and kept track of",
        )
    if cluster.sync is not None and cluster.sync.argo_cd is not None:
        yield "argo_cd", "Argo CD", (3, 0), "tracking by annotation from the start"
