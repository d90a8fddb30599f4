"""A base is fetched over the network.

## What it does
Reports paths in the kustomization of a base that kustomize would fetch: addresses, git
repositories, and anything with `?ref=`.

## Why it is bad
A build would need the network, and what it makes could change without a commit here. Whoever owns
the other end would decide what runs in the cluster.

## Example
```yaml
# base/pytorchjob/kustomization.yaml
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - job.yaml
  - https://example.com/training/job.yaml
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
- kubernetes-sigs/kustomize#4454
- kubernetes-sigs/kustomize: api/internal/target/kusttarget.go (accumulateResources)
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS801",
    severity=Severity.ERROR,
    stage="source",
    sources=(
        "kubernetes-sigs/kustomize#4454",
        "kubernetes-sigs/kustomize: api/internal/target/kusttarget.go (accumulateResources)",
    ),
)
