"""Lightning's trainer is told of another shape than the run has.

## What it does
Compares `trainer.devices` times `trainer.num_nodes` in the arguments of a program that torchrun
starts, as flags or as `key=value`, with the number of processes. An elastic run has to have a size
at which they agree.

## Why it is bad
Lightning, and NeMo on top of it, compares the two when it starts and stops where they differ. Older
versions do not compare: they cut the data into the wrong number of parts.

## Example
```yaml
team: nlp
image: vit
command: [torchrun, -m, vit.pretrain]
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
args: [trainer.devices=8, trainer.num_nodes=2]
```

## Use instead
```yaml
team: nlp
image: vit
command: [torchrun, -m, vit.pretrain]
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
args: [trainer.devices=8, trainer.num_nodes=4]
```

## References
- lightning/fabric/plugins/environments/torchelastic.py: validate_settings
- kubeflow/trainer#1790
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.launch import launches
from compiler.model import Run
from compiler.programs import training
from compiler.rules import Report, Rule
from compiler.scriptargs import last
from compiler.site import Site

RULE = Rule(
    code="LCH548",
    severity=Severity.WARNING,
    stage="run",
    sources=(
        "lightning/fabric/plugins/environments/torchelastic.py: validate_settings",
        "kubeflow/trainer#1790",
    ),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The shapes that no size of the run has."""
    if run.first.devices is None or run.others.devices is None:
        return
    first, others = run.first.processes, run.others.processes
    for member in run.members[:1]:
        container = training(run, member, site)
        if not container.holds("trainer."):
            continue
        for launch in launches(container):
            if launch.launcher != "torchrun":
                continue
            found = last(launch)
            devices = found.get(("trainer", "devices"))
            nodes = found.get(("trainer", "num_nodes"))
            if devices is None or nodes is None or devices.number is None or nodes.number is None:
                continue
            if devices.number < 1 or nodes.number < 1:
                # All devices that there are.
                continue
            product = devices.number * nodes.number
            sizes = range(run.least_nodes, run.nodes + 1)
            if any(product == first + others * (size - 1) for size in sizes):
                continue
            wrong, right = (devices, others) if devices.number != others else (nodes, run.nodes)
            yield Report(
                wrong.word.route,
                f"`{devices.text}` and `{nodes.text}` make {product} processes, and the run has"
                f" {run.world_size}" + (" at the most" if run.elastic else ""),
                f"write {right} for {wrong.value}",
                wrong.word.related,
                place=wrong.word.place,
            )
