"""A key is not text.

## What it does
Reports a key that is a list, a mapping or an alias, and a value that has no key. Keys that look
like numbers or booleans are text, as they are written.

## Why it is bad
Kubernetes objects are JSON, whose keys are text. `{{ name }}`, left over from a template, is
such a key to YAML: a mapping as the key of a mapping.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env: {{ environment }}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env: {ENVIRONMENT: research}
```

## References
- YAML 1.2.2, section 3.2.1 (representation graph)
- RFC 8259, section 4 (names of JSON objects)
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="SRC112", severity=Severity.ERROR, stage="source", sources=("RFC 8259: section 4",)
)
