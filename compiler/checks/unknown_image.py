"""There is no image of this name.

## What it does
Reports an image that is neither in `images/lock.yaml` nor a full reference, and one whose folder
under `images/` has no digest in the lock yet.

## Why it is bad
The lock says which bytes a name stands for. Without it, the pods hold their accelerators while the
kubelet tries to pull an image that does not exist.

## Example
```yaml
team: nlp
image: llm-stf
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- volcano-sh/volcano#1765
- argoproj/argo-workflows#947
- nextflow-io/nextflow#697
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS810",
    severity=Severity.ERROR,
    stage="source",
    sources=("volcano-sh/volcano#1765", "argoproj/argo-workflows#947", "nextflow-io/nextflow#697"),
)
