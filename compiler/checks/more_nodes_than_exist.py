"""The run asks for more nodes than the cluster has.

## What it does
Counts how many pods of the run fit on the nodes of the catalogue (by accelerators, cores,
memory and the number of pods) and reports runs that need more. Of an elastic run its most nodes
count, since all of them are admitted together.

## Why it is bad
The pods that found a node hold it and wait for the others, which never come: a run can block half
a cluster without a single step of training.

## Example
```yaml
# policy/teams/nlp.yaml
namespace: p-nlp
owners: [kim-nlp]
clusters: [west]
defaults: {priority: normal, stop: {grace: 5m}}
```
```yaml
team: nlp
image: llm-sft
accelerators: A100-80GB:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: 7
```

## Use instead
```yaml
# policy/teams/nlp.yaml
namespace: p-nlp
owners: [kim-nlp]
clusters: [west]
defaults: {priority: normal, stop: {grace: 5m}}
```
```yaml
team: nlp
image: llm-sft
accelerators: A100-80GB:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: 4
```

## References
- pangeo-data/pangeo#111
- k8s.io/kubernetes: pkg/scheduler/framework/plugins/noderesources/fit.go
"""

from collections.abc import Iterator
from fractions import Fraction

from compiler.containers import asked, containers
from compiler.diagnostics import Severity
from compiler.model import Member, Run
from compiler.rules import Report, Route, Rule
from compiler.site import Site, free, free_pods

RULE = Rule(
    code="RES413",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "pangeo-data/pangeo#111",
        "k8s.io/kubernetes: pkg/scheduler/framework/plugins/noderesources/fit.go",
    ),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The node counts that the catalogue cannot fill."""
    caps = site.team.value.caps
    nodes = min(run.nodes, caps.nodes) if caps and caps.nodes else run.nodes
    needed: dict[str | None, int] = {}
    for member, count in ((run.first, 1), (run.others, nodes - 1)):
        name = member.devices.name if member.devices is not None else None
        needed[name] = needed.get(name, 0) + count
    for member in reversed(run.members):
        name = member.devices.name if member.devices is not None else None
        found, each = site.node(name), _fitting(run, member, site)
        count = needed.pop(name, 0)
        if found is None or not each or count <= found[1] * each:
            continue
        machines = (
            f"{found[1]} nodes with {name}" if name else f"{found[1]} nodes without accelerators"
        )
        route: Route = ("num_nodes", "max") if run.elastic is not None else ("num_nodes",)
        place = (
            site.cluster.place("accelerators", name, "nodes")
            if name is not None
            else site.cluster.place("cpu_nodes", "nodes")
        )
        yield Report(
            route,
            f"{count} nodes are wanted; {site.cluster.name} has {machines}"
            + (f", with room for {each} of these pods on each" if each > 1 else ""),
            f"write {run.nodes - (count - found[1] * each)} or less, or take other accelerators",
            ((place, "so many there are"),),
        )


def _fitting(run: Run, member: Member, site: Site) -> int:
    """How many pods of the member fit on one node; 0 where that is unknown or none does."""
    name = member.devices.name if member.devices is not None else None
    found = site.node(name)
    if found is None:
        return 0
    node, parts = found[0], containers(run, member)
    fits = [free_pods(node)]
    entry = site.accelerator(name) if name is not None else None
    if entry is not None and member.devices is not None:
        fits.append(entry.per_node // member.devices.count)
    for resource in ("cpu", "memory"):
        amount: Fraction = asked(parts, resource)
        if amount > 0:
            fits.append(int(free(node, resource) / amount))
    return max(0, min(fits))
