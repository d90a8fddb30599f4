"""A number is outside of what is possible.

## What it does
Reports a number that is too small or too large for its key: no nodes at all, a port above 65535, a
size beyond the 64 bits in which the API server keeps it.

## Why it is bad
The API server and the webhooks refuse some of these values with the whole object, such as no
workers, or a limit of 2^33 retries; others only when the pod is made, such as a port.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: 0
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: 1
```

## References
- k8s.io/kubernetes: pkg/apis/core/validation/validation.go
- k8s.io/apimachinery: pkg/api/resource/quantity.go
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="DEC205",
    severity=Severity.ERROR,
    stage="source",
    sources=(
        "k8s.io/kubernetes: pkg/apis/core/validation/validation.go",
        "k8s.io/apimachinery: pkg/api/resource/quantity.go",
    ),
)
