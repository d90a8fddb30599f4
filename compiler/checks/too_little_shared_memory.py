"""Processes that share memory have next to none.

## What it does
Reports a run with several processes on a node, or with data loader workers (`--num_workers 8` and
the like), whose `/dev/shm` is smaller than 64Mi for each process: `shm_size: 0`, which leaves the
runtime's own 64Mi, or a small size, with nothing mounted there.

## Why it is bad
Data loader workers hand over batches in /dev/shm, and NCCL keeps its buffers between accelerators
there. A worker dies with \"Bus error\", or NCCL with \"unhandled system error\", often hours in,
when the first large batch comes.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
shm_size: 0
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
shm_size: 32Gi
```

## References
- pytorch/pytorch#16979
- pytorch/torchtitan#853
- NVIDIA/nccl#342
"""

from collections.abc import Iterator
from fractions import Fraction

from compiler.amounts import size
from compiler.diagnostics import Severity
from compiler.launch import launches
from compiler.model import Member, Run
from compiler.nodes import Mapping
from compiler.passthrough import SHARED_MEMORY
from compiler.programs import training
from compiler.rules import Report, Rule
from compiler.scriptargs import settings
from compiler.site import Site
from compiler.volumes import mounted

RULE = Rule(
    code="RES441",
    severity=Severity.WARNING,
    stage="run",
    sources=("pytorch/pytorch#16979", "pytorch/torchtitan#853", "NVIDIA/nccl#342"),
)

# What a container runtime gives where nobody asks (containerd, docker).
BUILT_IN = 64 * 2**20
WORKERS = frozenset({"num_workers", "dataloader_num_workers", "workers", "n_workers"})


def check(run: Run, site: Site) -> Iterator[Report]:
    """The sizes that are too small for what runs."""
    for member in run.members:
        processes = member.processes if member.devices is not None else 1
        least = BUILT_IN * processes
        if member.shm is not None and member.shm.value >= least:
            continue
        spec = member.pod.get("spec")
        if isinstance(spec, Mapping) and "hostIPC" in spec:
            # The node's own /dev/shm.
            continue
        if any(item.path == SHARED_MEMORY for item in mounted(run, member)):
            continue
        workers = _workers(run, member, site)
        if processes < 2 and not workers:
            continue
        has = Fraction(BUILT_IN) if member.shm is None else member.shm.value
        route = run.routes(member, "shm_size")
        what = f"{processes} processes" if processes > 1 else f"`{workers}`"
        yield Report(
            route if run.origins.set(route) else run.routes(member, "accelerators"),
            f"{what} on a node share {size(has)} at {SHARED_MEMORY}",
            "take `shm_size` out, for the cluster's own; or write some GiB for each process",
        )


def _workers(run: Run, member: Member, site: Site) -> str:
    """The setting that asks for data loader workers, '' where there is none."""
    for launch in launches(training(run, member, site)):
        for setting in settings(launch):
            if setting.name in WORKERS and (setting.number or 0) > 0:
                return setting.text
    return ""
