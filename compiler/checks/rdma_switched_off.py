"""NCCL is told not to use the RDMA device that the run holds.

## What it does
Reports NCCL_IB_DISABLE=1 and NCCL_NET=Socket, in `env:` or in a script, of a run on several nodes
whose pods have an RDMA device. EFA devices are left alone, which NCCL uses without its own IB code.

## Why it is bad
All traffic between nodes goes over the pods' ordinary network, at a tenth of the speed and less.
Nothing fails: the run takes several times as long, and holds devices that others wait for. The
setting is often what is left of a search for another fault.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env: {NCCL_IB_DISABLE: "1"}
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
env: {NCCL_DEBUG: INFO}
```

## References
- areal-project/AReaL#639
- hiyouga/LlamaFactory#6111
- pytorch/pytorch#111424
"""

import re
from collections.abc import Iterator

from compiler.containers import containers
from compiler.diagnostics import Place, Severity
from compiler.launch import main
from compiler.model import Member, Run
from compiler.programs import training
from compiler.rules import Report, Route, Rule
from compiler.site import Site

RULE = Rule(
    code="NET630",
    severity=Severity.WARNING,
    stage="run",
    sources=("areal-project/AReaL#639", "hiyouga/LlamaFactory#6111", "pytorch/pytorch#111424"),
)

DEVICE = re.compile(r"rdma|roce|infiniband|/hca|[/_-]ib(?:[/_-]|\b)", re.IGNORECASE)
SWITCHES = {"NCCL_IB_DISABLE": re.compile("1"), "NCCL_NET": re.compile("socket", re.IGNORECASE)}


def check(run: Run, site: Site) -> Iterator[Report]:
    """The settings that leave the fast network idle."""
    if run.nodes < 2:
        return
    for member in run.members:
        devices = [n for n, _ in member.resources if DEVICE.search(n) and "efa" not in n.lower()]
        if not devices:
            continue
        for name, value, route, place in _settings(run, member, site):
            yield Report(
                route,
                f"{name}={value} keeps NCCL from the {devices[0]} that each of the {run.nodes}"
                " nodes holds",
                "take it out",
                ((run.routes(member, "resources", devices[0]), "the device"),),
                place=place,
            )


def _settings(
    run: Run, member: Member, site: Site
) -> Iterator[tuple[str, str, Route, Place | None]]:
    env = containers(run, member)[0].env
    launch = main(training(run, member, site))
    for name, off in SWITCHES.items():
        if name in env:
            if off.fullmatch(env[name].value):
                yield name, env[name].value, env[name].route, None
        elif launch is not None and launch.scripted:
            value = launch.constants.get(name, "")
            if off.fullmatch(value):
                yield name, value, launch.word.route, launch.word.place
