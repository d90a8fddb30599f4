"""A base is not exactly one object of its back end.

## What it does
Reports a base that makes no object, several, or one of another kind than its back end's.

## Why it is bad
A run is the one object of its base with the job's values in it. Further objects would be created
once for each run, under one name.

## Example
```yaml
# base/job/job.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: run
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
          terminationMessagePolicy: FallbackToLogsOnError
```

## References
- kubernetes-sigs/kustomize: api/resmap/reswrangler.go (already registered id)
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS805",
    severity=Severity.ERROR,
    stage="source",
    sources=("kubernetes-sigs/kustomize: api/resmap/reswrangler.go (already registered id)",),
)
