"""A secret is not named as Secret and key.

## What it does
Reports a value under `secrets:` that is not the name of a Secret, a slash and a key, such as
`hf/token`.

## Why it is bad
A value written here would stand in git, in the object and in every log of it, for all who can read
one of them. Only the reference belongs into a declaration.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
secrets: {HF_TOKEN: my-token}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
secrets: {HF_TOKEN: hf/token}
```

## References
- kserve/kserve#4677
- purestorage/helm-charts#172
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="SEC901",
    severity=Severity.ERROR,
    stage="source",
    sources=("kserve/kserve#4677", "purestorage/helm-charts#172"),
)
