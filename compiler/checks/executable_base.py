"""A base makes kustomize run a program.

## What it does
Reports generators, transformers, validators and Helm charts in the kustomization of a base, and
annotations that speak to kustomize itself, such as `config.kubernetes.io/function`.

## Why it is bad
Each build of each run would start that program, on the machines of everyone who builds. A change
of the base in a pull request must not run anything.

## Example
```yaml
# base/pytorchjob/kustomization.yaml
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - job.yaml
transformers:
  - transformer.yaml
```

## Use instead
```yaml
# base/pytorchjob/kustomization.yaml
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - job.yaml
commonAnnotations:
  example.com/owner: platform
```

## References
- kubernetes-sigs/kustomize: api/internal/plugins/loader/loader.go
- kubernetes-sigs/kustomize: plugin/builtin/helmchartinflationgenerator
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS802",
    severity=Severity.ERROR,
    stage="source",
    sources=(
        "kubernetes-sigs/kustomize: api/internal/plugins/loader/loader.go",
        "kubernetes-sigs/kustomize: plugin/builtin/helmchartinflationgenerator",
    ),
)
