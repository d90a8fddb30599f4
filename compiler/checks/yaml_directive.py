"""The file has a YAML directive.

## What it does
Reports each line with a directive, `%YAML` or `%TAG`, and any other line that YAML takes for one
because it starts with `%`.

## Why it is bad
kubectl and kustomize refuse files with directives. `%YAML 1.1` also changes what `on` or `010`
mean for some readers, and `%TAG` only serves tags, which have no meaning here.

## Example
```yaml
%YAML 1.1
---
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
---
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- YAML 1.2.2, section 6.8 (directives)
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="SRC108", severity=Severity.ERROR, stage="source", sources=("YAML 1.2.2: section 6.8",)
)
