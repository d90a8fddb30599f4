"""Accelerators are not written as name and count.

## What it does
Reports `accelerators` in another form than `NAME:COUNT`, such as `H100:8`: a count alone, a
mapping (`H100: 8` with a space), or other text.

## Why it is bad
A count alone does not say which accelerator, and a cluster may have several. With the space, YAML
reads a mapping.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: 8
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
- skypilot-org/skypilot#698
- skypilot-org/skypilot#4608
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="RES404",
    severity=Severity.ERROR,
    stage="source",
    sources=("skypilot-org/skypilot#698", "skypilot-org/skypilot#4608"),
)
