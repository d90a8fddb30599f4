"""The file does not hold a mapping.

## What it does
Reports a file whose top level is a list or a text where `key: value` lines are wanted.

## Why it is bad
Declarations and policy are mappings. A list often comes from a dash too many, a text from a
missing colon.

## Example
```yaml
- team: nlp
  image: llm-sft
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
- yaml/pyyaml#660
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(code="SRC109", severity=Severity.ERROR, stage="source", sources=("yaml/pyyaml#660",))
