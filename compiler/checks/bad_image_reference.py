"""An image is not named in a way that a registry knows.

## What it does
Reports an image that is neither a name of `images/` nor a reference of registry, path, tag and
digest. Paths are lower-case; a digest is `sha256:` and 64 hex digits.

## Why it is bad
The kubelet finds out when the pod is already placed and its accelerators are held: the container
waits with InvalidImageName.

## Example
```yaml
team: nlp
image: registry.example.com/training/LLM-SFT:0.1.0
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
- docker/cli#112
- galaxyproject/galaxy#9733
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="DEC209",
    severity=Severity.ERROR,
    stage="source",
    sources=("docker/cli#112", "galaxyproject/galaxy#9733"),
)
