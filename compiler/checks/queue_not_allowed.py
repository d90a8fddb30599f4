"""The team may not use this queue.

## What it does
Reports a queue of the cluster that is missing from the team's `queues`, where the team has such a
list.

## Why it is bad
The team's namespace has no LocalQueue of this name, so the run would stay suspended for ever.

## Example
```yaml
# policy/teams/nlp.yaml
namespace: p-nlp
owners: [kim-nlp]
clusters: [west]
queues: [interactive, data]
defaults: {priority: normal, stop: {grace: 5m}}
```

## Use instead
```yaml
# policy/teams/nlp.yaml
namespace: p-nlp
owners: [kim-nlp]
clusters: [west]
queues: [research, data]
defaults: {priority: normal, stop: {grace: 5m}}
```

## References
- kubernetes-sigs/kueue: site/content/en/docs/concepts/local_queue.md
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.suggestions import choose

RULE = Rule(
    code="OPS815",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubernetes-sigs/kueue: site/content/en/docs/concepts/local_queue.md",),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """A queue that the team's list lacks."""
    known, allowed = site.cluster.value.queues, site.team.value.queues
    if run.queue is None or not site.kueue or allowed is None or run.queue in allowed:
        return
    if known is not None and run.queue not in known:
        return
    yield Report(
        ("queue",),
        f"the team {site.team.name} may not use the queue `{run.queue}`",
        choose(run.queue, [name for name in allowed if known is None or name in known]),
        ((site.team.place("queues"), "the team's queues"),),
    )
