"""A launcher flag asks for another number of processes than the run has.

## What it does
Compares `--nproc_per_node`, `--num_processes` and `--num_gpus` with the accelerators of a node (of
all nodes for accelerate), in all their spellings, also in a shell's script. Values that are only
known at run time are left alone, and so is a number of processes on CPUs.

## Why it is bad
With fewer processes accelerators stand idle but are paid for; with more, processes share one and
fail. Anything that counts on the operator's WORLD_SIZE waits for processes that never come. `auto`
on CPUs starts one process for each core of the node.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
command: [torchrun, --nproc_per_node=4, train.py]
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
- kubeflow/trainer#1790
- kubeflow/trainer#1992
- kubeflow/pytorch-operator#331
- pytorch/pytorch#52848
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.launch import Flag, Launch, launches
from compiler.model import Member, Run
from compiler.programs import training
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH521",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubeflow/trainer#1790",
        "kubeflow/trainer#1992",
        "kubeflow/pytorch-operator#331",
        "pytorch/pytorch#52848",
    ),
)

PER_NODE = ("nproc_per_node", "num_gpus")


def check(run: Run, site: Site) -> Iterator[Report]:
    """The flags that say another number than the accelerators do."""
    for member in run.members:
        for launch in launches(training(run, member, site)):
            for flag in launch.flags:
                report = _judge(run, member, launch, flag)
                if report is not None:
                    yield report


def _judge(run: Run, member: Member, launch: Launch, flag: Flag) -> Report | None:
    if launch.launcher == "accelerate":
        wanted, over = run.world_size, "over all nodes"
        named = flag.name == "num_processes" and not flag.passed
    else:
        wanted, over = member.processes, "on a node"
        # `nproc_per_node` means this wherever it stands; `num_gpus` is a script's own word too.
        named = flag.name == "nproc_per_node" or (flag.name in PER_NODE and not flag.passed)
    if not named or flag.value is None:
        return None
    devices = member.devices
    has = f"the run has {_count(wanted, 'process', 'processes')} {over}"
    if devices is None:
        problem = {
            "auto": "`auto` starts one process for each core of the node",
            "cpu": "`cpu` starts one process for each core of the node",
            "gpu": "`gpu` fails without accelerators",
        }.get(flag.value)
        if problem is None or launch.launcher == "accelerate":
            return None
        message = f"`{flag.text}` on CPUs: {problem}, and {has}"
    else:
        has += f" (`accelerators: {devices.name}:{devices.count}`)"
        if flag.value == "cpu":
            message = f"`{flag.text}` starts one process for each core, and {has}"
        elif flag.number is not None and flag.number != wanted:
            message = f"`{flag.text}`, but {has}"
        else:
            return None
    spelt = flag.text.partition(" ")[0].partition("=")[0]
    out = f"take `{spelt}` out, for torchrun finds the number in its environment; or "
    remedy = (out if launch.launcher == "torchrun" else "") + f"write {wanted}"
    alone = launch.flag("num_machines", "config_file") is None
    if launch.launcher == "accelerate" and run.nodes > 1 and alone:
        remedy += f", and --num_machines {run.nodes} beside it"
    return Report(flag.word.route, message, remedy, flag.word.related, place=flag.word.place)


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"
