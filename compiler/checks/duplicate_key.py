"""A mapping has the same key twice.

## What it does
Reports each key that its mapping already has, at any depth, also where one of the two is quoted,
and shows the first one. The rest of the file is checked with the first value.

## Why it is bad
PyYAML and kubectl take the last value and drop the first without a word, kustomize and
ruamel.yaml refuse the file. In a long file the two stand far apart, and the value that a
reviewer sees is not the one that counts.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
"max_duration": 48h
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 48h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- yaml/pyyaml#165
- rbgirshick/yacs#17
- eth-cscs/stackinator#272
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="SRC110",
    severity=Severity.ERROR,
    stage="source",
    sources=("yaml/pyyaml#165", "rbgirshick/yacs#17", "eth-cscs/stackinator#272"),
)
