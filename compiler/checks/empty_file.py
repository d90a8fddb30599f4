"""The file holds nothing.

## What it does
Reports a file without any value: no bytes, only comments and blank lines, or only `---`.

## Why it is bad
A file where a job is expected promises one. An empty file is a save that went wrong, or a job
that was meant to be deleted; only a deleted file says the latter.

## Example
```yaml
# to be written
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

RULE = Rule(code="SRC106", severity=Severity.ERROR, stage="source", sources=("yaml/pyyaml#660",))
