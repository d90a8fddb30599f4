"""A quantity is not one that Kubernetes reads.

## What it does
Reports sizes and numbers of cores in other units than `k M G T P E` (powers of 1000) and `Ki Mi Gi
Ti Pi Ei` (powers of 1024), and cores finer than a thousandth. The finding proposes both readings,
for they differ: `16G` is 7 % less than `16Gi`.

## Why it is bad
`16gb`, `16GiB` and `512mi` are refused by the API server with a regular expression in place of an
answer.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
memory: 900gb
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
memory: 900Gi
```

## References
- dynamical-org/reformatters#158
- kubernetes/kubernetes#35976
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="RES402",
    severity=Severity.ERROR,
    stage="source",
    sources=("dynamical-org/reformatters#158", "kubernetes/kubernetes#35976"),
)
