"""A node is asked for more accelerators than it has.

## What it does
Reports `accelerators` with a count above the `per_node` of the cluster's catalogue.

## Why it is bad
A pod runs on one node. No node can ever take this one, so it waits for ever, and under Kueue it
is admitted first and holds its quota while it waits.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:16
queue: research
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
num_nodes: 2
```

## References
- NVIDIA/k8s-device-plugin#165
- NVIDIA/k8s-device-plugin#83
- NVIDIA/deepops#87
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="RES411",
    severity=Severity.ERROR,
    stage="run",
    sources=("NVIDIA/k8s-device-plugin#165", "NVIDIA/k8s-device-plugin#83", "NVIDIA/deepops#87"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The counts that no node of the catalogue has."""
    for member in run.members:
        devices = member.devices
        entry = site.accelerator(devices.name) if devices is not None else None
        if devices is None or entry is None or devices.count <= entry.per_node:
            continue
        nodes = -(-devices.count * run.nodes // entry.per_node)
        remedy = f"write {devices.name}:{entry.per_node}"
        if run.elastic is None and member is run.others:
            remedy += f" and num_nodes: {nodes}"
        yield Report(
            run.routes(member, "accelerators"),
            f"{devices.count} {devices.name} on one node; a node of {site.cluster.name} has"
            f" {entry.per_node}",
            remedy,
            ((site.cluster.place("accelerators", devices.name, "per_node"), "what a node has"),),
        )
