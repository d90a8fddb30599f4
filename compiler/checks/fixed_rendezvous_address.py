"""The nodes are sent to an address that is not the first node's.

## What it does
Reports a written-out host in `--master_addr`, `--rdzv_endpoint` or `--main_process_ip` of a run on
several nodes, and the loopback address in `--dist-url` and `--init_method`. The endpoint of an etcd
rendezvous is a service of its own, and is left alone.

## Why it is bad
The pods of a run get new addresses each time, and names with the run's number. On `localhost` each
node finds only itself. All nodes wait, with their accelerators, until the rendezvous times out.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
command: [torchrun, --rdzv_backend=c10d, "--rdzv_endpoint=localhost:23456", train.py]
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
command: [torchrun, train.py]
```

## References
- pytorch/pytorch#116304
- pytorch/pytorch#107021
- huggingface/accelerate#1327
"""

import re
from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.environment import shape
from compiler.launch import Flag, Launch, launches
from compiler.model import Run
from compiler.programs import training
from compiler.rendezvous import written_host
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH542",
    severity=Severity.ERROR,
    stage="run",
    sources=("pytorch/pytorch#116304", "pytorch/pytorch#107021", "huggingface/accelerate#1327"),
)

URLS = ("dist_url", "init_method")
LOOPBACK = re.compile(r"localhost|127\.[0-9.]+|::1|0\.0\.0\.0|\[::1?\]")


def check(run: Run, site: Site) -> Iterator[Report]:
    """The hosts that none of the run's pods has, or each of them."""
    if run.nodes < 2:
        return
    for member in run.members:
        if run.first is not run.others and member is run.first:
            # The first node may well call itself by any name.
            continue
        for launch in launches(training(run, member, site)):
            for flag in launch.flags:
                host = _host(run, launch, flag)
                if host is None:
                    continue
                loopback = LOOPBACK.fullmatch(host) is not None
                if flag.name in URLS and not loopback:
                    continue
                why = (
                    "each node would find only itself there"
                    if loopback
                    else f"no pod has the name or address `{host}` in every run"
                )
                yield Report(
                    flag.word.route,
                    f"`{flag.text}` on {run.nodes} nodes: {why}",
                    _remedy(run, site, launch, flag),
                    related=flag.word.related,
                    place=flag.word.place,
                )


def _host(run: Run, launch: Launch, flag: Flag) -> str | None:
    """The host that a flag names; None where it names none, or is not judged."""
    if flag.name in URLS and flag.value:
        return flag.value.partition("//")[2].rpartition(":")[0] or None
    return written_host(run, launch, flag)


def _remedy(run: Run, site: Site, launch: Launch, flag: Flag) -> str:
    if launch.launcher == "torchrun" and not flag.passed:
        return "take it out: torchrun finds the first node in its environment"
    if shape(run, site.backend) == "elastic":
        return "take it out: the operator gives the address in PET_RDZV_ENDPOINT"
    name = "${MASTER_ADDR}" if launch.scripted else "$(MASTER_ADDR)"
    return f"write {name} for the host"
