"""A size is in thousandths of a byte.

## What it does
Reports sizes with the unit `m`, which is a thousandth: `512m` of memory is half a byte.

## Why it is bad
Kubernetes accepts it. The pod then dies when its sandbox is made, with a message that does not
name the memory.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
memory: 512m
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
memory: 512Gi
```

## References
- kubernetes/kubernetes#79950
- stackrox/kube-linter#189
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="RES401",
    severity=Severity.ERROR,
    stage="source",
    sources=("kubernetes/kubernetes#79950", "stackrox/kube-linter#189"),
)
