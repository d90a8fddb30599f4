"""A base names a file that is not there.

## What it does
Reports files and folders that the kustomization of a base lists and that do not exist, and a folder
of a base with no kustomization, or with two.

## Why it is bad
kustomize takes a name that is no file for the address of a git repository, and tries to fetch it.

## Example
```yaml
# base/pytorchjob/kustomization.yaml
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - jobs.yaml
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
- kubernetes-sigs/kustomize: api/internal/target/kusttarget.go (accumulateResources)
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS807",
    severity=Severity.ERROR,
    stage="source",
    sources=("kubernetes-sigs/kustomize: api/internal/target/kusttarget.go (accumulateResources)",),
)
