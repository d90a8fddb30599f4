"""kustomize does not build a base.

## What it does
Reports a base that passes all other checks and that kustomize refuses, in kustomize's words.

## Why it is bad
Every run of the back end stands on it.

## Example
```yaml
# base/job/kustomization.yaml
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - job.yaml
patches:
  - target: {kind: Job}
    patch: |-
      - op: remove
        path: /metadata/annotations/example.com~1owner
```

## Use instead
```yaml
# base/job/kustomization.yaml
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - job.yaml
patches:
  - target: {kind: Job}
    patch: |-
      - op: remove
        path: /metadata/labels/app.kubernetes.io~1part-of
```

## References
- RFC 6902, section 4.2
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS808", severity=Severity.ERROR, stage="source", sources=("RFC 6902, section 4.2",)
)
