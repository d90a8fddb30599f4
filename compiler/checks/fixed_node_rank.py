"""All nodes get the same rank.

## What it does
Reports a number in `--node_rank` or `--machine_rank` of a command that several nodes share.

## Why it is bad
All nodes of a run start the same command. With one rank for all of them the rendezvous waits for
the others for ever.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
command: [torchrun, --node_rank=0, train.py]
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
- meta-pytorch/torchx#759
- kubeflow/trainer#1790
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.launch import launches
from compiler.model import Run
from compiler.programs import training
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH536",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "meta-pytorch/torchx#759",
        "kubeflow/trainer#1790",
    ),
)

NAMES = ("node_rank", "machine_rank")


def check(run: Run, site: Site) -> Iterator[Report]:
    """The rank that cannot be right on more than one node."""
    for member in run.members:
        shared = (
            run.nodes > 1 if run.first is run.others else member is run.others and run.nodes > 2
        )
        if not shared:
            continue
        for launch in launches(training(run, member, site)):
            for flag in launch.flags:
                if flag.name not in NAMES or flag.number is None or flag.passed:
                    continue
                if launch.launcher == "torchrun" or run.elastic is not None:
                    remedy = "take it out: torchrun finds the rank in its environment"
                else:
                    variable = "${PET_NODE_RANK}" if launch.scripted else "$(PET_NODE_RANK)"
                    remedy = f"write {variable} for the number"
                yield Report(
                    flag.word.route,
                    f"`{flag.text}` is the same on several of the {run.nodes} nodes",
                    remedy,
                    related=flag.word.related,
                    place=flag.word.place,
                )
