"""A launcher on several nodes is not told of the others.

## What it does
Reports a run on several nodes where

- `deepspeed` has no hostfile: none is named, and nothing is mounted at /job/hostfile;
- `accelerate launch --num_machines` has no `--machine_rank`, or no `--main_process_ip`;
- `accelerate launch --use_deepspeed` is to reach the other nodes with pdsh, which is its default.

With `--config_file` accelerate's settings are not known here, and nothing is said.

## Why it is bad
torchrun reads the operator's variables, these launchers do not. deepspeed goes on \"with local
resources only\": every node trains alone on the same data and writes over the others' results.
accelerate stops at once, or waits for an address that is no address.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
command: [deepspeed, train.py]
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
command: [torchrun, -m, vit.pretrain, --deepspeed, /etc/ds/zero3.json]
```

## References
- hiyouga/LlamaFactory#176
- huggingface/accelerate#1327
- deepspeed/launcher/runner.py: main
- accelerate/utils/launch.py: prepare_multi_gpu_env
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.launch import Launch, launches
from compiler.model import Member, Run
from compiler.programs import Container, training
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.volumes import mounted, within

RULE = Rule(
    code="LCH543",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "hiyouga/LlamaFactory#176",
        "huggingface/accelerate#1327",
        "deepspeed/launcher/runner.py: main",
        "accelerate/utils/launch.py: prepare_multi_gpu_env",
    ),
)

HOSTFILE = "/job/hostfile"


def check(run: Run, site: Site) -> Iterator[Report]:
    """The launchers that know of their own node alone."""
    if run.nodes < 2 or run.elastic is not None:
        # Of elastic runs elastic-without-launcher tells.
        return
    for member in run.members:
        container = training(run, member, site)
        for launch in launches(container):
            problem: tuple[str, str] | None = None
            if launch.launcher == "deepspeed":
                problem = _deepspeed(run, member, container, launch)
            elif launch.launcher == "accelerate":
                problem = _accelerate(run, launch)
            if problem is not None:
                yield Report(
                    launch.word.route,
                    problem[0],
                    problem[1],
                    related=launch.word.related,
                    place=launch.word.place,
                )


def _deepspeed(
    run: Run, member: Member, container: Container, launch: Launch
) -> tuple[str, str] | None:
    if launch.flag("hostfile", "H") is not None or container.holds(HOSTFILE):
        return None
    count = launch.flag("num_nodes")
    if count is not None and count.number not in (None, run.nodes):
        # Of another number of nodes node-count-mismatch tells.
        return None
    if any(m.path == HOSTFILE or within(HOSTFILE, m.path) for m in mounted(run, member)):
        return None
    message = (
        "`deepspeed` without a hostfile starts processes on its own node alone: "
        f"{run.nodes} nodes would train apart"
    )
    return message, "write `torchrun` in the place of `deepspeed`: DeepSpeed takes it just as well"


def _accelerate(run: Run, launch: Launch) -> tuple[str, str] | None:
    machines = launch.flag("num_machines")
    if launch.flag("config_file") is not None or machines is None:
        return None
    if machines.number not in (None, run.nodes):
        return None
    opening, closing = ("${", "}") if launch.scripted else ("$(", ")")
    values = {"machine_rank": "PET_NODE_RANK", "main_process_ip": "MASTER_ADDR"}
    missing = {flag: name for flag, name in values.items() if launch.flag(flag) is None}
    if missing:
        flags = " and ".join(f"--{flag}" for flag in missing)
        added = " ".join(f"--{flag} {opening}{name}{closing}" for flag, name in missing.items())
        return (
            f"`{machines.text}` without {flags}: accelerate does not read the operator's variables",
            f"add {added}, or start it with torchrun",
        )
    own = launch.flag("deepspeed_multinode_launcher", "deepspeed_hostfile")
    if launch.flag("use_deepspeed") is not None and own is None:
        message = "`--use_deepspeed` leaves the other nodes to pdsh and a hostfile: there is none"
        return message, "add --deepspeed_multinode_launcher standard"
    return None
