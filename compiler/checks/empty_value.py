"""A key has no value.

## What it does
Reports a key with nothing after its colon, with `null` or `~`, and an empty list where at least
one item is needed. An empty text is written `""`.

## Why it is bad
Nothing after a colon is null to YAML. The API server drops a null from a Job, so that the default
comes back, and refuses a PyTorchJob with one under server-side apply; a reader that turns it into
text passes the word `None` to the program.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env:
  NOTE:
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env:
  NOTE: ""
```

## References
- kubernetes/kubernetes#12889
- kubernetes/kubernetes#82296
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="DEC204",
    severity=Severity.ERROR,
    stage="source",
    sources=("kubernetes/kubernetes#12889", "kubernetes/kubernetes#82296"),
)
