"""The cluster has no queue of this name.

## What it does
Reports a `queue` that the policy of a cluster with Kueue does not list. Where the ledger makes
runs wait, `queue` has no meaning and is not looked at.

## Why it is bad
Kueue suspends the run because of its queue label, and waits for a LocalQueue that nobody is going
to make. Nothing fails; the run just never starts.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: reserch
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
- kubernetes-sigs/kueue#7929
- kubeflow/trainer#3221
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.suggestions import choose

RULE = Rule(
    code="OPS813",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubernetes-sigs/kueue#7929", "kubeflow/trainer#3221"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """A queue that the catalogue lacks."""
    known = site.cluster.value.queues
    if run.queue is None or known is None or not site.kueue or run.queue in known:
        return
    allowed = site.team.value.queues
    yield Report(
        ("queue",),
        f"the cluster {site.cluster.name} has no queue `{run.queue}`",
        choose(run.queue, [name for name in known if allowed is None or name in allowed]),
        ((site.cluster.place("queues", key=True), "its queues"),),
    )
