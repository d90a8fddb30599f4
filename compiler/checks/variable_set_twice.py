"""A variable has both a text and a Secret.

## What it does
Reports an environment variable that stands under `env` and under `secrets`, also where the two
come from different layers.

## Why it is bad
Two entries of one name are legal in a pod, where the last one counts, and in nothing else: the API
server refuses a PyTorchJob with them, and under server-side apply a Job, too. Other ways of
applying it drop one of them without a word.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env: {HF_TOKEN: "none"}
secrets: {HF_TOKEN: hf/token}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
secrets: {HF_TOKEN: hf/token}
```

## References
- kubernetes/kubernetes#122126
- camunda/camunda-platform-helm#731
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="LCH503",
    severity=Severity.ERROR,
    stage="source",
    sources=("kubernetes/kubernetes#122126", "camunda/camunda-platform-helm#731"),
)
