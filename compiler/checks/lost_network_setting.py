"""A job takes away what its cluster gives to runs on several nodes.

## What it does
Compares `security: {capabilities: ...}` and `annotations:` of a run on several nodes with what the
cluster's catalogue adds for its accelerators (`multi_node:`): a list of capabilities without one of
those, or another value for one of those annotations.

## Why it is bad
A list replaces the one below it. Without IPC_LOCK an RDMA device is there, but memory cannot be
registered with it, and NCCL fails at the first operation with \"Cannot allocate memory\". With
another annotation the pods are not on the nodes' fast network.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
security: {run_as_user: 1000, capabilities: []}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
security: {run_as_user: 1000, capabilities: [IPC_LOCK]}
```

## References
- NVIDIA/aicr#2306
- NVIDIA/nccl-tests#206
"""

from collections.abc import Iterator

from compiler.containers import passed
from compiler.diagnostics import Severity
from compiler.model import Member, Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="NET631",
    severity=Severity.WARNING,
    stage="run",
    sources=("NVIDIA/aicr#2306", "NVIDIA/nccl-tests#206"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """What the cluster gives, and the run does not have."""
    if run.nodes < 2:
        return
    for member in run.members:
        entry = site.accelerator(member.devices.name) if member.devices is not None else None
        if entry is None or entry.multi_node is None or member.devices is None:
            continue
        multi = entry.multi_node
        at = ("accelerators", member.devices.name, "multi_node")
        given = {name.removeprefix("CAP_") for name in member.security.capabilities}
        lost = [n for n in multi.capabilities or () if n.removeprefix("CAP_") not in given]
        if lost and not {"ALL"} & given and not _own_rights(run, member):
            route = run.routes(member, "security", "capabilities")
            yield Report(
                route,
                f"without {', '.join(lost)}, which {site.cluster.name} gives to runs on several"
                " nodes for its fast network",
                f"add {', '.join(lost)}, or take the list out",
                ((site.cluster.place(*at, "capabilities"), "what the cluster gives"),),
            )
        here = dict(member.annotations)
        for name, value in (multi.annotations or {}).items():
            if here.get(name, value) != value:
                yield Report(
                    run.routes(member, "annotations", name),
                    f"`{name}` is `{value}` for runs on several nodes on {site.cluster.name}, and"
                    " this takes its place",
                    "take it out",
                    ((site.cluster.place(*at, "annotations", name), "what the cluster gives"),),
                )


def _own_rights(run: Run, member: Member) -> bool:
    """Whether `pod:` has rights of its own for a container: they are not judged here."""
    return any("securityContext" in node for _, node in passed(run, member, "spec", "containers"))
