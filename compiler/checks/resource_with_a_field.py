"""`resources:` asks for what another field says.

## What it does
Reports under `resources` the resource of any accelerator of the cluster, the cores, memory and
disk that have a field of their own, and names that Kubernetes knows no device by.

## Why it is bad
The number of processes, the caps, the quota, the price and the room on a node follow from
`accelerators`, `cpu`, `memory` and `ephemeral_storage`. What is asked for past them is counted
nowhere, and replaces what they say. The API server refuses a name without a prefix that is none of
its own.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:1
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
resources: {nvidia.com/gpu: 8}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
resources: {rdma/hca_shared_devices_a: 1}
```

## References
- kubernetes-sigs/kueue, docs of ClusterQueue (resources covered by a queue)
- k8s.io/kubernetes: pkg/apis/core/validation/validation.go (validateContainerResourceName)
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.containers import OWN_FIELDS, is_device
from compiler.diagnostics import Severity
from compiler.model import Member, Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="RES417",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubernetes/kubernetes#57170",
        "k8s.io/kubernetes: pkg/apis/core/validation/validation.go",
    ),
)
# What the numbers of these are worth where somebody writes them as a plain number of devices.
_UNITS = {"cpu": "", "memory": "Gi", "ephemeral-storage": "Gi"}
# What other tools call accelerators.
_ACCELERATORS = frozenset({"gpu", "gpus", "accelerator", "accelerators", "num_gpus", "num-gpus"})


def check(run: Run, site: Site) -> Iterator[Report]:
    """The resources that are said elsewhere, and those that are none."""
    for member in run.members:
        for name, count in member.resources:
            problem = _problem(member, name, count, site)
            if problem is not None:
                yield Report(run.routes(member, "resources", name), *problem, key=True)


def _problem(member: Member, name: str, count: int, site: Site) -> tuple[str, str] | None:
    field = OWN_FIELDS.get(name)
    if field is not None:
        return (
            f"`{name}` under `resources` would replace what `{field}` says",
            f"write {field}: {count}{_UNITS[name]} instead, and take it out here",
        )
    catalogue = site.cluster.value.accelerators or {}
    whole = name.removeprefix("requests.")
    named = [kind for kind, about in catalogue.items() if about.resource == whole]
    if named:
        own = member.devices.name if member.devices is not None else None
        kind = own if own in named else named[0]
        most = catalogue[kind].per_node
        meant = f"accelerators: {kind}:{min(count, most)}"
        others = f" (or {', '.join(n for n in named if n != kind)})" if own not in named else ""
        return (
            f"`{name}` under `resources` is counted nowhere: `accelerators` is the field for it",
            f"write {meant} instead{others if named[1:] else ''}, and take it out here",
        )
    if is_device(name):
        return None
    if name.casefold() in _ACCELERATORS:
        own = member.devices.name if member.devices is not None else None
        kind = own or next(iter(catalogue), None)
        if kind is not None:
            meant = f"{kind}:{min(count, catalogue[kind].per_node)}"
            return (
                f"`{name}` is no resource of a container: `accelerators` is the field for it",
                "take it out" if own else f"write accelerators: {meant} instead",
            )
    meant = whole if "/" in name else "its whole name, such as rdma/hca_shared_devices_a"
    return f"`{name}` is no resource of a container", f"write {meant}"
