"""The file is not YAML.

## What it does
Reports the first place where the text stops being YAML: wrong indentation, a missing colon or
the space after it, a quote or bracket that is never closed, text that needs quotes, a tab
between the parts of a line. Nothing after that place is judged.

## Why it is bad
The file means nothing, or means different things to different readers: a tab after a colon is
read by kubectl and refused by editors built on ruamel.yaml or PyYAML.

## Example
```yaml
team:nlp
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
- YAML 1.2.2, sections 6 and 7
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(code="SRC105", severity=Severity.ERROR, stage="source", sources=("YAML 1.2.2",))
