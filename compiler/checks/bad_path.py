"""A path cannot be used where it stands.

## What it does
Reports a relative path where a container path is wanted, an absolute one where a file of this
repository is named, a step `..`, and a colon in a container path.

## Why it is bad
A relative mount path is taken from the root of the file system, or fails when the container
starts. What follows a colon is taken for mount options by some container runtimes. A step `..`
would leave the volume or the repository.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
mounts: {data: {claim: datasets, read_only: true}}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
mounts: {/data: {claim: datasets, read_only: true}}
```

## References
- kubernetes/kubernetes#48749
- kubernetes/kubernetes#129453
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="DEC207",
    severity=Severity.ERROR,
    stage="source",
    sources=("kubernetes/kubernetes#48749", "kubernetes/kubernetes#129453"),
)
