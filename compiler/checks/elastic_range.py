"""An elastic run without a range of nodes that can be.

## What it does
Reports `num_nodes: {min, max}` where `min` is greater than `max`, and `elastic:` in a job whose
number of nodes is fixed.

## Why it is bad
The operator accepts any pair, and torchrun refuses to start with such a range. Without a range the
run is static: the settings under `elastic:` do nothing.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: {min: 4, max: 2}
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
```

## References
- kubeflow/trainer#2277
- kubeflow/training-operator: pkg/apis/kubeflow.org/v1/pytorch_defaults.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH529",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubeflow/trainer#2277",
        "kubeflow/training-operator: pkg/apis/kubeflow.org/v1/pytorch_defaults.go",
    ),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The range that is none, and details of a range that is not there."""
    if run.elastic is not None:
        least, most = run.elastic.min, run.elastic.max
        if least > most:
            yield Report(
                ("num_nodes", "min"),
                f"`min: {least}` is more than `max: {most}`",
                f"write num_nodes: {{min: {most}, max: {least}}}",
            )
        return
    node = run.origins.node(("elastic",))
    if node is not None and node.path == run.path:
        number = f"{run.nodes} node" + ("" if run.nodes == 1 else "s")
        yield Report(
            ("elastic",),
            f"the run has a fixed number of nodes ({number}), so nothing here has an effect",
            f"write num_nodes: {{min: {max(1, run.nodes // 2)}, max: {run.nodes}}}, or take "
            "`elastic` out",
            key=True,
        )
