"""A run is not named by its number.

## What it does
Reports a `checkpoint.from` that is not the letter r and the number of a run of this job, such as
`r2`.

## Why it is bad
Runs of a job are numbered, and a number is used once. A path or the word `latest` would mean
another checkpoint tomorrow, so that the same declaration would not train the same again.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, from: latest}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, from: r2}
```

## References
- compiler/names.py (RunRef)
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="DEC210",
    severity=Severity.ERROR,
    stage="source",
    sources=("compiler/names.py: RunRef",),
)
