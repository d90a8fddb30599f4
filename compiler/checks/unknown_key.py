"""A mapping has a key that it cannot have.

## What it does
Reports each key that has no meaning where it stands, in declarations and policy, and names the
nearest key that has one, also for the words that Kubernetes and other launchers use.

## Why it is bad
A reader that drops unknown keys runs the job without what the key was for: a misspelt
`max_duraton` is a run without a limit. Some keys are absent on purpose, such as `name` (the name
of the file) and `nproc_per_node` (it follows from `accelerators`); the finding says why.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
max_duraton: 24h
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
- drivendataorg/cyfi#64
- allenai/rslearn#380
- 23andMe/Yamale#109
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="DEC201",
    severity=Severity.ERROR,
    stage="source",
    sources=("drivendataorg/cyfi#64", "allenai/rslearn#380", "23andMe/Yamale#109"),
)
