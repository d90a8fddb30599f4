"""Several accelerators on a node, and one plain Python process.

## What it does
Reports a run with several accelerators on a node whose command starts `python` itself: no
torchrun, accelerate or deepspeed.

## Why it is bad
One process uses one accelerator unless the program starts more by itself. The operator's
WORLD_SIZE counts all accelerators, so `init_process_group` waits for processes that nobody starts;
or seven of eight accelerators stand idle.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
command: [python, train.py]
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
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.launch import main
from compiler.model import Run
from compiler.programs import training
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH522",
    severity=Severity.WARNING,
    stage="run",
    sources=(
        "kubeflow/trainer#1790",
        "kubeflow/trainer#1992",
        "kubeflow/pytorch-operator#331",
    ),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The commands that start one process where there should be several."""
    if run.elastic is not None:
        # There it is an error, which has a rule of its own.
        return
    for member in run.members:
        if member.processes < 2 or member.devices is None:
            continue
        launch = main(training(run, member, site))
        if launch is None or launch.launcher != "python":
            continue
        yield Report(
            launch.word.route,
            f"`{launch.program}` starts one process, and a node has {member.processes} "
            f"accelerators (`accelerators: {member.devices.name}:{member.devices.count}`)",
            "start it with torchrun: write `torchrun` in the place of "
            f"`{launch.program}`; or waive this rule if the program starts its processes itself",
            related=launch.word.related,
            place=launch.word.place,
        )
