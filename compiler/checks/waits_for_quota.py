"""The run will wait, and for whom.

## What it does
Adds up what all runs hold that are active or would start: per team, cluster and accelerator, and
how many runs a team has at once. A run that does not fit when its turn comes is reported, with
those who hold the room and the smallest edits with which it would fit. Runs that hold already come
first, then jobs by the commit that last changed them, those of no commit yet last. Of an elastic
run the most nodes count; on clusters where the ledger makes runs wait it begins with its least.

## Why it is bad
It need not be: waiting is what queues are for. But who merges a change should know that nothing
will start, and whose end it waits for.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: 5
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: 4
```

## References
- kubernetes-sigs/kueue: site/content/en/docs/concepts/cluster_queue.md
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="RES431",
    severity=Severity.NOTICE,
    stage="source",
    sources=("kubernetes-sigs/kueue: site/content/en/docs/concepts/cluster_queue.md",),
)
