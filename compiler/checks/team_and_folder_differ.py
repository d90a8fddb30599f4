"""A job is in the folder of another team.

## What it does
Reports a declaration in `jobs/<team>/` whose `team:` names another team. In a team's folder the
key may be left out.

## Why it is bad
Reviewers are asked by folder, quota is counted by team: one team would approve what another one
pays for.

## Example
```yaml
# jobs/vision/example.yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
# jobs/nlp/example.yaml
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- databricks/cli#5614
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="DEC214",
    severity=Severity.ERROR,
    stage="source",
    sources=("databricks/cli#5614",),
)
