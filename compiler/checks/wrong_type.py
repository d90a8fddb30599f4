"""A value is of another kind than the key takes.

## What it does
Reports text where a number is wanted, a number where a list is wanted, and so on. Only `true` and
`false` are truth values; numbers are plain decimal digits without quotes. Text is never refused
for looking like something else: `1e-5` and `on` stay these letters.

## Why it is bad
A lenient reader makes 1 out of `true`, 8 out of `"8.0"` and 1000 out of `1_000`, each reader in
its own way. The API server refuses the whole object for one such value, with a message about its
schema or about Go types.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: true
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: 4
```

## References
- kubernetes/kubernetes#82296
- drivendataorg/cyfi#64
- 23andMe/Yamale#109
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="DEC203",
    severity=Severity.ERROR,
    stage="source",
    sources=("kubernetes/kubernetes#82296", "drivendataorg/cyfi#64", "23andMe/Yamale#109"),
)
