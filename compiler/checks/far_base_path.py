"""A base leads out of its folder.

## What it does
Reports absolute paths, paths that leave `base/<backend>/`, and links.

## Why it is bad
Each run keeps a copy of the base that it started from, and that copy is the folder alone. What lies
outside could change under a run, or be a file that nobody meant to publish; kustomize refuses files
outside of its folder.

## Example
```yaml
# base/pytorchjob/kustomization.yaml
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - ../job/job.yaml
```

## Use instead
```yaml
# base/pytorchjob/kustomization.yaml
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - job.yaml
```

## References
- kubernetes-sigs/kustomize: api/internal/loader/loadrestrictions.go
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS806",
    severity=Severity.ERROR,
    stage="source",
    sources=("kubernetes-sigs/kustomize: api/internal/loader/loadrestrictions.go",),
)
