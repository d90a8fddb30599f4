"""A network interface is named that the cluster does not have.

## What it does
Reports `NCCL_SOCKET_IFNAME` and `GLOO_SOCKET_IFNAME` that match none of the interfaces in the
cluster's `network`, and NCCL's `^` lists that leave it only others, or the loopback.

## Why it is bad
NCCL then stops with \"no socket interface found\", or hangs. Names differ between clusters and
node images, so a job copied from elsewhere brings the wrong one along.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: 2
env: {NCCL_SOCKET_IFNAME: ens6}
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
env: {NCCL_SOCKET_IFNAME: "eth0,ib0"}
```

## References
- NVIDIA/nccl#286
- aws/deep-learning-containers#6469
"""

from collections.abc import Iterator

from compiler.containers import containers
from compiler.diagnostics import Severity
from compiler.interfaces import VARIABLES, interfaces
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="NET622",
    severity=Severity.WARNING,
    stage="run",
    sources=("NVIDIA/nccl#286", "aws/deep-learning-containers#6469"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The interface choices that the cluster cannot meet."""
    network = site.cluster.value.network
    if network is None or network.interface is None:
        return
    known = list(dict.fromkeys([network.interface, *(network.interfaces or ())]))
    for member in run.members:
        main = containers(run, member)[0]
        for name in VARIABLES:
            value = main.env.get(name)
            chosen = interfaces(name, value.value) if value is not None else None
            if value is None or chosen is None:
                continue
            loopback = chosen.takes("lo")
            if loopback and (run.nodes < 2 or not chosen.excluded):
                # Fine on one node; on several loopback-interface reports it.
                continue
            if any(chosen.takes(interface) for interface in known) and not loopback:
                continue
            has = f"{site.cluster.name} has {' and '.join(known)}"
            if loopback and any(chosen.takes(interface) for interface in known):
                message = (
                    f"{name} is `{value.value}`, which lets NCCL take the loopback interface too"
                )
                remedy = f"write {value.value},lo, or {network.interface}"
            else:
                message = f"{name} is `{value.value}`, and {has}"
                remedy = f"write {network.interface}, or take it out: the compiler sets it"
            yield Report(
                value.route,
                message,
                remedy,
                ((site.cluster.place("network", "interface"), "the cluster's interface"),),
            )
