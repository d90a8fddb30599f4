"""A time span is not written as a duration.

## What it does
Reports a span without a unit, a clock time such as `24:00:00`, and other texts that are not days,
hours, minutes and seconds in this order: `7d`, `24h`, `1h30m`.

## Why it is bad
A bare `24` is hours to one reader and seconds to the API server. `24:00:00` is the number 86400 to
readers of YAML 1.1 and text to those of YAML 1.2.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24:00:00
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
- yaml/pyyaml#395
- bitbonsai/mcpvault#75
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="DEC206",
    severity=Severity.ERROR,
    stage="source",
    sources=("yaml/pyyaml#395", "bitbonsai/mcpvault#75"),
)
