"""A field of a base does not have the shape that Kubernetes wants.

## What it does
Reports fields in the pod templates of a base that the Kubernetes pod schema does not know, or that
hold something else than it wants, and labels and annotations of the object that are no text.

## Why it is bad
kustomize knows no schema of a training object and builds it all the same. The cluster refuses each
run that stands on it, or the operator does when it makes the pods.

## Example
```yaml
# base/job/job.yaml
apiVersion: batch/v1
kind: Job
metadata:
  name: run
spec:
  template:
    spec:
      containers:
        - name: pytorch
          env:
            - value: "1"
```

## Use instead
```yaml
# base/job/job.yaml
apiVersion: batch/v1
kind: Job
metadata:
  name: run
spec:
  template:
    spec:
      containers:
        - name: pytorch
          env:
            - name: PYTHONFAULTHANDLER
              value: "1"
```

## References
- k8s.io/api: core/v1/types.go
- kubernetes/kubernetes#12889
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS829",
    severity=Severity.ERROR,
    stage="source",
    sources=("k8s.io/api: core/v1/types.go", "kubernetes/kubernetes#12889"),
)
