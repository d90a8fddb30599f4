"""Several nodes are told to talk over the loopback interface.

## What it does
Reports `NCCL_SOCKET_IFNAME` and `GLOO_SOCKET_IFNAME` of a run on several nodes where the value is
or holds the loopback interface. NCCL's forms are understood: a list, names as beginnings, `=` for
whole names.

## Why it is bad
Over `lo` a process reaches only its own node. The rendezvous still works, for torchrun has its
own connection, and then the first collective operation hangs until its timeout.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: 2
env: {NCCL_SOCKET_IFNAME: lo}
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
env: {NCCL_SOCKET_IFNAME: eth0}
```

## References
- NVIDIA/nccl#286
- aws/deep-learning-containers#6469
- marin-community/marin#6940
"""

from collections.abc import Iterator

from compiler.containers import containers
from compiler.diagnostics import Severity
from compiler.interfaces import VARIABLES, interfaces
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="NET621",
    severity=Severity.ERROR,
    stage="run",
    sources=("NVIDIA/nccl#286", "aws/deep-learning-containers#6469", "marin-community/marin#6940"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The interface choices that hold the loopback."""
    if run.nodes < 2:
        return
    network = site.cluster.value.network
    own = network.interface if network is not None else None
    for member in run.members:
        main = containers(run, member)[0]
        for name in VARIABLES:
            if name not in main.env:
                continue
            chosen = interfaces(name, main.env[name].value)
            if chosen is not None and not chosen.excluded and chosen.takes("lo"):
                related = ((site.cluster.place("network", "interface"), "the cluster's interface"),)
                yield Report(
                    main.env[name].route,
                    f"{name} is `{main.env[name].value}`, and {run.nodes} nodes cannot meet on"
                    " the loopback interface",
                    f"write {own}" if own else "name the interface between the nodes, such as eth0",
                    related if own else (),
                )
