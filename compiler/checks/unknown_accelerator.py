"""The cluster has no accelerator of this name.

## What it does
Reports an accelerator that is not in the catalogue of the job's cluster (`policy/clusters/`), and
names the nearest one.

## Why it is bad
The name decides which device is asked for. A pod that asks for a device that no node has waits for
ever.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H1000:8
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
- skypilot-org/skypilot#591
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="RES405",
    severity=Severity.ERROR,
    stage="source",
    sources=("skypilot-org/skypilot#591",),
)
