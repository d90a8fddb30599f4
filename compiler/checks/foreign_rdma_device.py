"""An RDMA device is named that the cluster does not have.

## What it does
Compares NCCL_IB_HCA of a run on several nodes with the value that the cluster's catalogue gives for
its accelerators. NCCL's forms are understood: a list, names as beginnings, `=` for whole names, a
port behind a colon. A list of what to leave out (`^`) is left alone.

## Why it is bad
NCCL finds no device of the name, says so at a level that nobody reads, and takes the ordinary
network. Such a value has often come along from another cluster.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env: {NCCL_IB_HCA: "bnxt_re0,bnxt_re1"}
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
env: {NCCL_IB_HCA: "mlx5_0,mlx5_1"}
```

## References
- NVIDIA/nccl#952
- hiyouga/LlamaFactory#6111
"""

from collections.abc import Iterator

from compiler.containers import containers
from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="NET632",
    severity=Severity.WARNING,
    stage="run",
    sources=("NVIDIA/nccl#952", "hiyouga/LlamaFactory#6111"),
)

NAME = "NCCL_IB_HCA"


def check(run: Run, site: Site) -> Iterator[Report]:
    """The devices that are none of the cluster's."""
    if run.nodes < 2:
        return
    for member in run.members:
        entry = site.accelerator(member.devices.name) if member.devices is not None else None
        if entry is None or entry.multi_node is None or member.devices is None:
            continue
        known = _names((entry.multi_node.env or {}).get(NAME, ""))
        setting = containers(run, member)[0].env.get(NAME)
        wanted = _names(setting.value) if setting is not None else ()
        if setting is None or not known or not wanted:
            continue
        if any(a.startswith(b) or b.startswith(a) for a in wanted for b in known):
            continue
        place = site.cluster.place("accelerators", member.devices.name, "multi_node", "env", NAME)
        yield Report(
            setting.route,
            f"{NAME} is `{setting.value}`, and {site.cluster.name} has {', '.join(known)}",
            "take it out: the compiler sets it",
            ((place, "the cluster's devices"),),
        )


def _names(value: str) -> tuple[str, ...]:
    """The names in a value, without ports; none where it excludes or refers to something."""
    if "$" in value or value.startswith("^"):
        return ()
    names = (name.strip().partition(":")[0] for name in value.removeprefix("=").split(","))
    return tuple(name for name in names if name)
