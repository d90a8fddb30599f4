"""A mount names no volume, or more than one.

## What it does
Reports a mount that has none, or several, of `claim`, `config_map`, `secret` and `scratch`.

## Why it is bad
A volume has one source. The API server refuses a pod with two when it is made, and makes an empty
folder of none: the run would find no data there.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
mounts:
  /data: {claim: datasets, scratch: 100Gi}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
mounts:
  /data: {claim: datasets, read_only: true}
```

## References
- k8s.io/kubernetes: pkg/apis/core/validation/validation.go (validateVolumeSource)
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="DEC211",
    severity=Severity.ERROR,
    stage="source",
    sources=("k8s.io/kubernetes: pkg/apis/core/validation/validation.go",),
)
