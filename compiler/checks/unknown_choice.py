"""A word is not one of the few that are possible.

## What it does
Reports a value that is not in the list of its key's words, and names the nearest one.

## Why it is bad
The operator checks few of its words: a misspelt restart policy is accepted, and then every pod of
the job is refused. The documented default is not always the real one.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
state: stoped
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
state: stopped
```

## References
- kubeflow/trainer#2127
- kubeflow/trainer: pkg/apis/kubeflow.org/v1/common_types.go
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="DEC208",
    severity=Severity.ERROR,
    stage="source",
    sources=("kubeflow/trainer#2127", "kubeflow/trainer: pkg/apis/kubeflow.org/v1/common_types.go"),
)
