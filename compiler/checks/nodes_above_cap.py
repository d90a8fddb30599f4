"""The run has more nodes than the team may use at once.

## What it does
Reports runs whose nodes (of an elastic run the most) are above `caps.nodes` of the team.

## Why it is bad
One run could take everything that the team has, and all others of the team would wait for it.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: 9
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

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Route, Rule
from compiler.site import Site

RULE = Rule(
    code="OPS817",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubernetes-sigs/kueue: site/content/en/docs/concepts/cluster_queue.md",),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """A node count above the team's cap."""
    caps = site.team.value.caps
    if caps is None or caps.nodes is None or run.nodes <= caps.nodes:
        return
    route: Route = ("num_nodes", "max") if run.elastic is not None else ("num_nodes",)
    yield Report(
        route,
        f"{run.nodes} nodes; a run of the team {site.team.name} may have {caps.nodes}",
        f"write {caps.nodes} or less",
        ((site.team.place("caps", "nodes"), "the team's cap"),),
    )
