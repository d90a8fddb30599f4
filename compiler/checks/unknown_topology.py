"""The cluster has no topology level of this name.

## What it does
Reports a level under `topology:` that is not in the catalogue of the job's cluster.

## Why it is bad
Kueue keeps a run suspended whose level no node is labelled with, and says so only in the status of
the workload.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: 4
topology: {required: blok}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: 4
topology: {required: block}
```

## References
- kubernetes-sigs/kueue#5039
- kubernetes-sigs/kueue#6996
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS811",
    severity=Severity.ERROR,
    stage="source",
    sources=("kubernetes-sigs/kueue#5039", "kubernetes-sigs/kueue#6996"),
)
