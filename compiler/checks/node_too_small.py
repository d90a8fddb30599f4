"""A pod asks for more than any node can give.

## What it does
Adds up what all containers of a pod request, sidecars and those of `pod:` included, and compares
it with what the catalogue's node offers, less what is reserved for system pods. An init container
counts by itself, as it runs before the others. A node that is full with its own system pods
(`pods`, 110 without it, and `reserved_pods`) has room for none.

## Why it is bad
The scheduler finds no node and waits for one. A sidecar with a few hundred megabytes is enough
where the training container has taken the whole node.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
cpu: 190
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
cpu: 180
```

## References
- Azure/AKS#691
- aws/karpenter-provider-aws#7727
- k8s.io/kubernetes: pkg/scheduler/framework/plugins/noderesources/fit.go
"""

from collections.abc import Iterator
from fractions import Fraction

from compiler.amounts import GIB, amount
from compiler.containers import Container, asked, containers
from compiler.diagnostics import Place, Severity
from compiler.model import Member, Run
from compiler.rules import Report, Route, Rule
from compiler.site import Site, free, free_pods

RULE = Rule(
    code="RES412",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "Azure/AKS#691",
        "aws/karpenter-provider-aws#7727",
        "k8s.io/kubernetes: pkg/scheduler/framework/plugins/noderesources/fit.go",
    ),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The requests that make a pod too large for every node."""
    for member in run.members:
        devices = member.devices
        name = devices.name if devices is not None else None
        found = site.node(name)
        entry = site.accelerator(name) if name is not None else None
        if found is None or (entry and devices and devices.count > entry.per_node):
            continue
        if free_pods(found[0]) < 1:
            # Of what the system is said to take wholly, nothing-left-on-a-node tells once.
            continue
        parts = containers(run, member)
        for resource in ("cpu", "memory"):
            total, offered = asked(parts, resource), free(found[0], resource)
            if total > offered > 0:
                yield _report(run, member, site, parts, resource, total)


def _report(
    run: Run, member: Member, site: Site, parts: list[Container], resource: str, total: Fraction
) -> Report:
    name = member.devices.name if member.devices is not None else None
    found = site.node(name)
    assert found is not None
    offered = free(found[0], resource)
    route, own = _culprit(parts, resource, total, offered)
    kind = f"a node with {name}" if name is not None else "a node without accelerators"
    message = f"a pod asks for {amount(resource, total)}"
    message += f" in {len(parts)} containers" if len(parts) > 1 else ""
    what = "of memory " if resource == "memory" else ""
    message += f"; {kind} has {amount(resource, offered)} {what}".rstrip()
    reserved = found[0].reserved_cpu if resource == "cpu" else found[0].reserved_memory
    message += f" beside the {amount(resource, reserved.value)} reserved" if reserved else ""
    rest = offered - (total - own)
    words = f"{rest // 1}" if resource == "cpu" else f"{rest // GIB}Gi"
    remedy = (
        f"write {words} or less" if rest >= (1 if resource == "cpu" else GIB) else "ask for less"
    )
    if run.origins.place(route).path == site.cluster.path and member.devices is not None:
        # The value is the catalogue's, for each accelerator: what to write is too.
        each = rest / member.devices.count
        words = f"{each // 1}" if resource == "cpu" else f"{each // GIB}Gi"
        remedy = f"write {words} or less for each accelerator"
    place: Place = (
        site.cluster.place("accelerators", name, "node", resource)
        if name is not None
        else site.cluster.place("cpu_nodes", "node", resource)
    )
    return Report(route, message, remedy, ((place, "what a node offers"),))


def _culprit(
    parts: list[Container], resource: str, total: Fraction, offered: Fraction
) -> tuple[Route, Fraction]:
    """The request to lower: the training container's where it alone is too much, else the largest
    of the others."""
    requests = [part.requests[resource] for part in parts if resource in part.requests]
    main = parts[0].requests.get(resource)
    if main is not None and main.value.value > offered:
        return main.route, main.value.value
    others = [r for r in requests if r is not main] or requests
    largest = max(others, key=lambda r: r.value.value)
    return largest.route, largest.value.value
