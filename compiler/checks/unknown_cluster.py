"""The job names a cluster that it cannot run on.

## What it does
Reports a `cluster:` that has no file in `policy/clusters/`, or that the job's team does not have
among its clusters.

## Why it is bad
Nothing would start: a syncer knows only clusters that it is set up for, and a team has a namespace
and a quota only on its own.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
cluster: wset
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
cluster: west
```

## References
- argoproj/argo-cd#9318
- argoproj/applicationset#315
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="DEC216",
    severity=Severity.ERROR,
    stage="source",
    sources=("argoproj/argo-cd#9318", "argoproj/applicationset#315"),
)
