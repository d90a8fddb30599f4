"""The cluster has no priority class of this name.

## What it does
Reports a `priority` that the cluster's policy does not list. A cluster that lists none is not
asked.

## Why it is bad
Kueue makes no workload for a job whose priority class it cannot find, so the run stays suspended
with an error in the log of the controller.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
priority: hihg
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
priority: high
```

## References
- kubernetes/kubernetes#81596
- kubernetes-sigs/kueue: pkg/util/priority/priority.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.suggestions import choose

RULE = Rule(
    code="OPS814",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubernetes/kubernetes#81596", "kubernetes-sigs/kueue: pkg/util/priority/priority.go"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """A priority that the catalogue lacks."""
    known = site.cluster.value.priorities
    if run.priority is None or known is None or run.priority in known:
        return
    caps = site.team.value.caps
    allowed = caps.priorities if caps is not None else None
    yield Report(
        ("priority",),
        f"the cluster {site.cluster.name} has no priority `{run.priority}`",
        choose(run.priority, [name for name in known if allowed is None or name in allowed]),
        ((site.cluster.place("priorities", key=True), "its priorities"),),
    )
