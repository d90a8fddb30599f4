"""A launcher flag asks for another number of nodes than the run has.

## What it does
Compares `--nnodes`, `--num_machines` and `--num_nodes` with `num_nodes`, and `min:max` with the
range of an elastic run; `--standalone` counts as one node, and so does accelerate where
`--num_processes` is more than one node has and `--num_machines` is not there.

## Why it is bad
With a larger number all nodes wait for one that never comes, until the rendezvous times out. With
a smaller one some nodes are left outside, or each node trains alone on the same data.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
command: [torchrun, --nnodes=2, train.py]
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
- kubeflow/trainer#2277
- kubeflow/trainer#1790
- pytorch/pytorch: torch/distributed/run.py
"""

import re
from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.launch import Launch, launches
from compiler.model import Member, Run
from compiler.programs import training
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH523",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubeflow/trainer#2277",
        "kubeflow/trainer#1790",
        "pytorch/pytorch: torch/distributed/run.py",
    ),
)

NAMES = {
    "torchrun": ("nnodes",),
    "accelerate": ("num_machines",),
    "deepspeed": ("num_nodes",),
    "python": ("nnodes",),
    "other": (),
}
RANGE = re.compile(r"(?P<min>[0-9]{1,9})(?::(?P<max>[0-9]{1,9}))?")


def check(run: Run, site: Site) -> Iterator[Report]:
    """The flags that say another number than `num_nodes` does."""
    least = run.elastic.min if run.elastic else run.nodes
    written = f"{least}:{run.nodes}" if run.elastic else str(run.nodes)
    for member in run.members:
        for launch in launches(training(run, member, site)):
            yield from _crowded(run, member, launch)
            for flag in launch.flags:
                alone = (
                    flag.name == "standalone" and launch.launcher == "torchrun" and not flag.passed
                )
                if alone and run.nodes > 1:
                    yield Report(
                        flag.word.route,
                        f"`{flag.text}` makes each of the {run.nodes} nodes a run of its own",
                        "take it out",
                        related=flag.word.related,
                        place=flag.word.place,
                    )
                if flag.name not in NAMES[launch.launcher] or flag.value is None:
                    continue
                if flag.passed and flag.name != "nnodes":
                    continue
                match = RANGE.fullmatch(flag.value)
                if match is None:
                    continue
                low, high = int(match["min"]), int(match["max"] or match["min"])
                if (low, high) == (least, run.nodes):
                    continue
                spelt = flag.text.partition(" ")[0].partition("=")[0]
                out = f"take `{spelt}` out, for torchrun finds the number in its environment; or "
                yield Report(
                    flag.word.route,
                    f"`{flag.text}`, but the run has {_nodes(run)}",
                    (out if launch.launcher == "torchrun" else "") + f"write {written}",
                    flag.word.related,
                    place=flag.word.place,
                )


def _nodes(run: Run) -> str:
    if run.elastic:
        return f"{run.elastic.min} to {run.elastic.max} nodes"
    return "1 node" if run.nodes == 1 else f"{run.nodes} nodes"


def _crowded(run: Run, member: Member, launch: Launch) -> Iterator[Report]:
    """accelerate's processes, where it would start those of all nodes on each."""
    flag = launch.flag("num_processes")
    if launch.launcher != "accelerate" or run.nodes < 2 or flag is None or flag.number is None:
        return
    if launch.flag("num_machines", "config_file") is not None or member.devices is None:
        return
    if flag.number == run.world_size:
        yield Report(
            flag.word.route,
            f"`{flag.text}` without --num_machines: accelerate counts one node, and would start "
            f"{flag.number} processes on each of the {run.nodes}",
            f"add --num_machines {run.nodes}",
            flag.word.related,
            place=flag.word.place,
        )
