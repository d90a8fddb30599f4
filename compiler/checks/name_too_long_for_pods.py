"""A job's name leaves no room for the names of its pods.

## What it does
Reports job names above 40 characters. The pods of a run are called `<job>-r<run>-worker-<index>`,
a Service carries the same name, and a Service's name has at most 63 characters: with 40 there is
room for run 9999 and worker 9999.

## Why it is bad
A longer name passes admission, and then no Service can be made: the operator tries again for ever,
and its pods run and never find each other. Only beyond 63 characters is the object refused.

## Example
```yaml
# jobs/nlp/supervised-fine-tuning-of-the-support-dialogues.yaml
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
# jobs/nlp/sft-of-the-support-dialogues.yaml
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
    code="NAM304",
    severity=Severity.ERROR,
    stage="source",
    sources=("project-codeflare/mlbatch#38", "kubeflow/trainer#1101"),
)
