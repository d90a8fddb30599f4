"""A file that is to be mounted does not exist.

## What it does
Reports a path under `files:` at which this repository has no file. Paths begin at the root of the
repository.

## Why it is bad
The content of the file is part of the run. kustomize would stop with the name of a folder that
nobody knows.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
files: {/etc/job/train.yaml: configs/nlp/llm-trian.yaml}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
files: {/etc/job/train.yaml: configs/nlp/llm-train.yaml}
```

## References
- techiescamp/kustomize#3
- kubeflow/community-distribution#1165
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="STO701",
    severity=Severity.ERROR,
    stage="source",
    sources=("techiescamp/kustomize#3", "kubeflow/community-distribution#1165"),
)
