"""The run has more accelerators than the team may use at once.

## What it does
Reports runs whose accelerators over all nodes are above `caps.accelerators` of the team. Where
the nodes alone are above their own cap, only what is left of the fault is reported here.

## Why it is bad
One run could take everything that the team has, and all others of the team would wait for it.

## Example
```yaml
# policy/teams/nlp.yaml
namespace: p-nlp
owners: [kim-nlp]
clusters: [west]
caps: {accelerators: 16}
defaults: {priority: normal, stop: {grace: 5m}}
```

## Use instead
```yaml
# policy/teams/nlp.yaml
namespace: p-nlp
owners: [kim-nlp]
clusters: [west]
caps: {accelerators: 32}
defaults: {priority: normal, stop: {grace: 5m}}
```

## References
- kubernetes-sigs/kueue: site/content/en/docs/concepts/cluster_queue.md
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="OPS818",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubernetes-sigs/kueue: site/content/en/docs/concepts/cluster_queue.md",),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """A count of accelerators above the team's cap."""
    caps = site.team.value.caps
    if caps is None or caps.accelerators is None:
        return
    nodes = min(run.nodes, caps.nodes) if caps.nodes is not None else run.nodes
    first = run.first.devices.count if run.first.devices is not None else 0
    each = run.others.devices.count if run.others.devices is not None else 0
    total = first + each * (nodes - 1)
    if total <= caps.accelerators:
        return
    remedy = f"write fewer nodes: {(caps.accelerators - first) // each + 1} fit" if each else ""
    if nodes == 1 or not each or first > caps.accelerators:
        devices = run.first.devices
        remedy = f"write {devices.name}:{caps.accelerators} or less" if devices is not None else ""
    yield Report(
        run.routes(run.others, "accelerators"),
        f"{total} accelerators on {nodes} nodes; a run of the team {site.team.name} may have"
        f" {caps.accelerators}",
        remedy,
        ((site.team.place("caps", "accelerators"), "the team's cap"),),
    )
