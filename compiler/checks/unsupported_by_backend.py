"""The cluster's kind of object cannot carry what the job asks for.

## What it does
Reports a feature of a run that the back end chosen in the cluster's `backend` has no way to
express, such as several nodes or a `master` in a batch Job.

## Why it is bad
Leaving the feature out would run another job than the one that was declared and reviewed.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
master: {env: {ROLE: first}}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: 2
master: {env: {ROLE: first}}
```

## References
- meta-pytorch/torchx#1067
- meta-pytorch/torchx#1068
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS821",
    severity=Severity.ERROR,
    stage="source",
    sources=("meta-pytorch/torchx#1067", "meta-pytorch/torchx#1068"),
)
