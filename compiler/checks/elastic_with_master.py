"""An elastic run with a first node of its own.

## What it does
Reports `master:` in a job whose `num_nodes` is a range.

## Why it is bad
An elastic run consists of workers only, and any of them may become the first. The operator counts
the nodes of a rendezvous by the workers: beside a master one node waits outside for ever.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: {min: 2, max: 4}
master: {memory: 900Gi}
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
memory: 900Gi
```

## References
- kubeflow/trainer#2277
- kubeflow/trainer#1762
- kubeflow/trainer#1916
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH530",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubeflow/trainer#2277",
        "kubeflow/trainer#1762",
        "kubeflow/trainer#1916",
    ),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The block that an elastic run cannot have."""
    key = run.origins.effective.key("master")
    if run.elastic is not None and run.first is not run.others and key is not None:
        yield Report(
            ("num_nodes",),
            "an elastic run has no first node: any node may come and go",
            "write what is below for all nodes, or a fixed num_nodes",
            ((("num_nodes",), "the range that makes the run elastic"),),
            place=key.place,
        )
