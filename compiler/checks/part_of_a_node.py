"""Several nodes are asked for, and only a part of each.

## What it does
Reports runs on several nodes that use fewer accelerators of each than it has, unless the
catalogue says `partial: true` for them.

## Why it is bad
Accelerators of one node talk over their own links; between nodes they share the network, which is
many times slower. The rest of each node is left in pieces that no whole-node run can use.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: 2
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
- kubeflow/mpi-operator#52
- kubeflow/pytorch-operator#219
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="RES416",
    severity=Severity.WARNING,
    stage="run",
    sources=("kubeflow/mpi-operator#52", "kubeflow/pytorch-operator#219"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The counts below a whole node, where there are several nodes."""
    if run.nodes < 2:
        return
    for member in run.members:
        devices = member.devices
        entry = site.accelerator(devices.name) if devices is not None else None
        if devices is None or entry is None or entry.partial or devices.count >= entry.per_node:
            continue
        total = run.accelerators
        nodes = -(-total // entry.per_node)
        remedy = (
            f"write {devices.name}:{total} and take num_nodes out"
            if total <= entry.per_node
            else f"write {devices.name}:{entry.per_node} and num_nodes: {nodes}"
        )
        whole = f"{entry.per_node} {devices.name}"
        if all((one.devices or devices).count == devices.count for one in run.members):
            which = f"{run.nodes} nodes with {devices.count} of their {whole} each"
        else:
            nodes = "the first" if member is run.first else f"{run.nodes - 1}"
            which = f"{nodes} of {run.nodes} nodes with {devices.count} of {whole}"
            remedy = f"write {devices.name}:{entry.per_node} here too"
        yield Report(
            run.routes(member, "accelerators"),
            f"{which}: the network between nodes is slower than a node's own links",
            remedy,
            ((site.cluster.place("accelerators", devices.name, "per_node"), "what a node has"),),
        )
