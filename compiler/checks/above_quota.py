"""The run has more accelerators than its team can ever get.

## What it does
Reports runs whose accelerators of one kind, over all nodes, are above what the team is guaranteed
on the cluster plus what it may borrow there; of an elastic run its most nodes count. A team with a
quota for a cluster, but none for an accelerator of it, can get none of that one. What is above a
cap of the team, or above what the cluster has, is left to those rules.

## Why it is bad
Such a run waits for ever. No queue says so: it looks like any other run that waits, and those who
wait behind it in a strict queue never run either.

## Example
```yaml
team: speech
cluster: west
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: speech
cluster: west
image: llm-sft
accelerators: A100-80GB:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- kubernetes-sigs/kueue: site/content/en/docs/concepts/cluster_queue.md
- kubernetes-sigs/kueue: pkg/scheduler/flavorassigner/flavorassigner.go
"""

from collections.abc import Iterator, Mapping

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.policy.team import Quota
from compiler.quota.demand import demand
from compiler.quota.limits import CPU
from compiler.rules import Report, Route, Rule
from compiler.site import Site

RULE = Rule(
    code="RES430",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubernetes-sigs/kueue: site/content/en/docs/concepts/cluster_queue.md",
        "kubernetes-sigs/kueue: pkg/scheduler/flavorassigner/flavorassigner.go",
    ),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """Accelerators above all that the team may hold at once."""
    own = (site.team.value.quota or {}).get(site.cluster.name)
    if own is None or run.stopped:
        return
    caps = site.team.value.caps
    nodes = min(run.nodes, caps.nodes) if caps and caps.nodes else run.nodes
    for name, wanted in demand(run, nodes).items():
        entry = site.accelerator(name)
        if name == CPU or entry is None:
            continue
        quota = own.get(name)
        limit = quota.guaranteed + (quota.borrowing or 0) if quota is not None else 0
        bounds = [wanted, entry.per_node * entry.nodes]
        if caps is not None and caps.accelerators is not None:
            bounds.append(caps.accelerators)
        if min(bounds) > limit:
            yield _report(run, site, own, name, wanted, nodes)


def _report(
    run: Run, site: Site, own: Mapping[str, Quota], name: str, wanted: int, nodes: int
) -> Report:
    cluster, quota = site.cluster.name, own.get(name)
    place = site.team.place("quota", cluster, name, key=True)
    fewest = demand(run, 1).get(name, 0)
    others = [
        other
        for other, entry in own.items()
        if (other == CPU or site.accelerator(other) is not None)
        and entry.guaranteed + (entry.borrowing or 0) > 0
    ]
    if quota is None or quota.guaranteed + (quota.borrowing or 0) == 0:
        remedy = "take an accelerator that it has quota for"
        remedy += f": {', '.join(others)}" if others else ""
        return Report(
            _accelerators(run, name),
            f"the team {site.team.name} has no quota for {name} on {cluster}",
            remedy,
            # All of it, so that a wrong name in it is seen to be the cause.
            ((place if quota else site.team.place("quota", cluster), "the team's quota"),),
        )
    limit = quota.guaranteed + (quota.borrowing or 0)
    each = demand(run, 2).get(name, 0) - fewest
    message = f"{wanted} {name}" + (f" on {nodes} nodes" if nodes > 1 else "")
    message += f"; the team {site.team.name} can get {limit} on {cluster}"
    if quota.borrowing:
        message += f" ({quota.guaranteed} guaranteed, {quota.borrowing} borrowed)"
    related = ((place, "the team's quota"),)
    if nodes > 1 and each and fewest <= limit:
        route: Route = ("num_nodes", "max") if run.elastic is not None else ("num_nodes",)
        fit = (limit - fewest) // each + 1
        return Report(route, message, f"write fewer nodes: {fit} fit", related)
    fit = limit // nodes
    remedy = f"write {name}:{fit} or less" if fit else "write fewer nodes and fewer accelerators"
    return Report(_accelerators(run, name), message, remedy, related)


def _accelerators(run: Run, name: str) -> Route:
    member = next(
        (part for part in run.members if part.devices is not None and part.devices.name == name),
        run.others,
    )
    return run.routes(member, "accelerators")
