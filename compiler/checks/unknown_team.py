"""There is no team of this name.

## What it does
Reports a job whose team has no file in `policy/teams/`. The team is the value of `team:`, or the
folder of the file under `jobs/`.

## Why it is bad
The team decides namespace, quota and who may approve the job. Without it, the objects would go to
a namespace that does not exist, and nobody would be asked.

## Example
```yaml
team: npl
image: llm-sft
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
- kubeflow/kubeflow#1675
- databricks/cli#5614
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="DEC215",
    severity=Severity.ERROR,
    stage="source",
    sources=("kubeflow/kubeflow#1675", "databricks/cli#5614"),
)
