"""The cluster has no placement of this name.

## What it does
Reports a name under `placement:` that is not in the catalogue of the job's cluster.

## Why it is bad
A placement stands for node labels and taints. Pods that ask for labels that no node has wait for
ever.

## Example
```yaml
team: speech
cluster: east
image: ddp-mini
accelerators: MI300X:8
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
placement: [local-nmve]
```

## Use instead
```yaml
team: speech
cluster: east
image: ddp-mini
accelerators: MI300X:8
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
placement: [local-nvme]
```

## References
- aws/karpenter-provider-aws#7535
- kubernetes-sigs/kueue#931
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS812",
    severity=Severity.ERROR,
    stage="source",
    sources=("aws/karpenter-provider-aws#7535", "kubernetes-sigs/kueue#931"),
)
