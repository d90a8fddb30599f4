"""A topology that nothing would heed.

## What it does
Reports `topology:` in a run that Kueue does not admit: on a cluster with `admission: ledger`, or
without a queue.

## Why it is bad
Kueue's topology-aware scheduling places the pods. Without it the annotations mean nothing, and
the nodes are as far apart as the scheduler happens to put them.

## Example
```yaml
team: speech
cluster: east
image: llm-sft
accelerators: A100-80GB:8
num_nodes: 2
max_duration: 24h
topology: {required: rack}
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 2
queue: research
max_duration: 24h
topology: {required: rack}
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- kubernetes-sigs/kueue 0.17, topology-aware scheduling
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="OPS828",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubernetes-sigs/kueue: pkg/controller/tas",),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The topology of a run that Kueue does not place."""
    if run.topology is not None and not (site.kueue and run.queue is not None):
        yield Report(
            ("topology",),
            "only Kueue heeds a topology, and it does not admit this run",
            "take it out, or run it on a cluster where Kueue admits runs",
            ((site.cluster.place("admission"), "how the cluster admits runs"),),
            key=True,
        )
