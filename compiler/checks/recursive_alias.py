"""An alias repeats a value that it is part of.

## What it does
Reports an alias, `*name`, inside the value that carries its anchor, `&name`.

## Why it is bad
Such a value has no end when written out. Readers that follow it run until the memory or the
stack is used up.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
args: &args
  config: *args
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
args:
  model: /models/base-8b
```

## References
- YAML 1.2.2, section 3.2.2.2 (anchors and aliases)
- CWE-674 (uncontrolled recursion)
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(code="SRC114", severity=Severity.ERROR, stage="source", sources=("CWE-674",))
