"""A job asks for a part of an accelerator.

## What it does
Reports a number of accelerators that is not a whole number of one or more.

## Why it is bad
Kubernetes hands out devices as whole numbers and refuses a pod with `0.5`. A part of a device is
an entry of the catalogue with its own name, such as a MIG slice; a run on CPUs leaves
`accelerators` out.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:0.5
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:1
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- skypilot-org/skypilot#2655
- volcano-sh/volcano#822
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="RES403",
    severity=Severity.ERROR,
    stage="source",
    sources=("skypilot-org/skypilot#2655", "volcano-sh/volcano#822"),
)
