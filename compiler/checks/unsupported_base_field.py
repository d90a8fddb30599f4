"""The kustomization of a base has a field that it must not have.

## What it does
Reports every field of a base's kustomization that is not `resources`, `components`, `patches`,
`labels`, `commonAnnotations` or `sortOptions`, with the reason for those that kustomize knows.

## Why it is bad
Some fields change what belongs to the job or to the team (image, name, namespace), some change how
kustomize merges, and some are not followed into a PyTorchJob, so that the run would stand beside
what it refers to.

## Example
```yaml
# base/pytorchjob/kustomization.yaml
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: training
resources:
  - job.yaml
```

## Use instead
```yaml
# base/pytorchjob/kustomization.yaml
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - job.yaml
labels:
  - pairs:
      app.kubernetes.io/part-of: training
```

## References
- kubernetes-sigs/kustomize#1295
- kubernetes-sigs/kustomize#6031
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS803",
    severity=Severity.ERROR,
    stage="source",
    sources=(
        "kubernetes-sigs/kustomize#1295",
        "kubernetes-sigs/kustomize#6031",
    ),
)
