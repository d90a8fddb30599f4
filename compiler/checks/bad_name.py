"""A name has a form that Kubernetes does not take.

## What it does
Reports names of jobs, teams, clusters, queues, claims, variables, ports, labels and the like that
are not possible as names of the objects that they become, and names that leave no room for what is
put behind them: a job's name has at most 40 characters.

## Why it is bad
A job's name becomes the name of its pods and their Services, with the run's number and the
replica's index at its end. One character too many, and the job is accepted but never gets a pod.
Upper-case letters and underscores are refused by the API server.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: Research_Queue
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
- project-codeflare/mlbatch#38
- kubeflow/trainer#1101
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="NAM301",
    severity=Severity.ERROR,
    stage="source",
    sources=("project-codeflare/mlbatch#38", "kubeflow/trainer#1101"),
)
