"""A declaration has expired.

## What it does
Reports a declaration whose `expires` is before today (UTC).

## Why it is bad
Its run ends with the next publish, and a new one never starts, so the file only looks as if it
did something.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
expires: 2026-01-31
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
expires: 2126-01-31
```

## References
- airbytehq/airbyte#15202
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="DEC217",
    severity=Severity.NOTICE,
    stage="source",
    sources=("airbytehq/airbyte#15202",),
)
