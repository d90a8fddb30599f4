"""A placement whose taints only the queue can tolerate.

## What it does
Reports a placement with tolerations, and `preemptible: true` where it stands for one, in a run that
Kueue admits.

## Why it is bad
Kueue writes the tolerations of the flavor that it picked into the pods. They are one atomic value
for server-side apply: each sync would take Kueue's part out again, so the run cannot bring its own.
Without them its pods stay pending.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
preemptible: true
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
- kubernetes-sigs/kueue 0.17, pkg/podset
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="OPS827",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubernetes-sigs/kueue: pkg/podset/podset.go",),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The placements of a run with a queue that tolerate taints."""
    if run.queue is None or not site.kueue:
        return
    for member in run.members:
        if member.placement.tolerations:
            field = (
                "placement" if run.origins.set(run.routes(member, "placement")) else "preemptible"
            )
            yield Report(
                run.routes(member, field) if field == "placement" else (field,),
                "these nodes are tainted, and under Kueue the queue's flavor must tolerate that",
                "name a queue whose flavor covers these nodes, and take this out",
                (
                    (("queue",), "Kueue admits the run through this queue"),
                    (site.cluster.place("admission"), "Kueue admits the runs of this cluster"),
                ),
            )
