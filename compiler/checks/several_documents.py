"""The file holds more than one document.

## What it does
Reports a second document after `---`, and any text after `...`. A `---` before the document or
at the end of the file, and comments around it, are fine.

## Why it is bad
One file is one job, named after the file. Readers differ on the rest: PyYAML refuses text after
`...`, kubectl and kustomize drop it without a word.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
...
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
- yaml/pyyaml#793
- waisbrot/yaml2jsonnet#4
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="SRC107",
    severity=Severity.ERROR,
    stage="source",
    sources=("yaml/pyyaml#793", "waisbrot/yaml2jsonnet#4"),
)
