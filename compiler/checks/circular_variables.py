"""Environment variables refer to one another in a circle.

## What it does
Reports variables whose `$(NAME)` references lead back to themselves. All others are written in an
order in which each one stands after those that it refers to.

## Why it is bad
Kubernetes expands `$(NAME)` only for names that stand earlier in the list. In a circle one of them
comes first, and the program gets the letters `$(NAME)`.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env: {ROOT: "$(OUT)/..", OUT: "$(ROOT)/out"}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env: {ROOT: /ckpt, OUT: "$(ROOT)/out"}
```

## References
- meta-pytorch/torchx#759
- kubernetes/website#8907
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="LCH502",
    severity=Severity.ERROR,
    stage="source",
    sources=("meta-pytorch/torchx#759", "kubernetes/website#8907"),
)
