"""An elastic run that torchrun does not start.

## What it does
Reports an elastic run whose command starts plain Python, accelerate or deepspeed. A program that
is not known is left alone, for it may start torchrun itself.

## Why it is bad
Only torchrun reads the rendezvous that the operator writes for an elastic run, and only it starts
the processes again when a node comes or goes. Without it there is no MASTER_ADDR, RANK or
WORLD_SIZE at all.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: {min: 2, max: 4}
command: [python, train.py]
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: {min: 2, max: 4}
command: [torchrun, train.py]
```

## References
- kubeflow/trainer#1762
- kubeflow/training-operator: pkg/controller.v1/pytorch/elastic.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.launch import main
from compiler.model import Run
from compiler.programs import training
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH531",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubeflow/trainer#1762",
        "kubeflow/training-operator: pkg/controller.v1/pytorch/elastic.go",
    ),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The command that finds no rendezvous."""
    if run.elastic is None:
        return
    launch = main(training(run, run.others, site))
    if launch is None or launch.launcher in ("torchrun", "other"):
        return
    yield Report(
        launch.word.route,
        f"`{launch.program}` does not take part in the rendezvous of an elastic run",
        "start it with torchrun, or write a fixed num_nodes",
        ((("num_nodes",), "the range that makes the run elastic"), *launch.word.related),
        place=launch.word.place,
    )
