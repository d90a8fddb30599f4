"""A mapping takes over another one with `<<`.

## What it does
Reports the merge key `<<`. The rest of the file is checked as if the merge had been done.

## Why it is bad
Merge keys are no part of YAML 1.2, and readers disagree on them. A change to the mapping that is
taken over changes every place that uses it, which a reviewer of the change does not see.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env:
  <<: {TOKENIZERS_PARALLELISM: "false"}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env:
  TOKENIZERS_PARALLELISM: "false"
```

## References
- YAML 1.1, type repository: merge (not taken over into YAML 1.2)
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="SRC113", severity=Severity.ERROR, stage="source", sources=("YAML 1.1: merge key",)
)
