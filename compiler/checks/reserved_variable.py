"""A variable is set that says which run this is.

## What it does
Reports `RUN_NAME`, `RUN_NUMBER`, `RUN_LINEAGE`, `CHECKPOINT_*` and `SOURCE_COMMIT` in `env`,
`secrets` or `pod:` of the training container.

## Why it is bad
They are written for each run, and programs find their checkpoints by them. A fixed text would send
the next run to the checkpoints of another, which it then overwrites.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env: {CHECKPOINT_DIR: /ckpt/mine}
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
env: {EXPORT_DIR: /ckpt/mine}
```

## References
- k8s.io/kubernetes: pkg/apis/core/validation/validation.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.environment import IDENTITY
from compiler.model import Run
from compiler.programs import training
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH533",
    severity=Severity.ERROR,
    stage="run",
    sources=("k8s.io/kubernetes: pkg/apis/core/validation/validation.go",),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The names that belong to the run's identity."""
    for member in run.members:
        for setting in training(run, member, site).env:
            if setting.name not in IDENTITY:
                continue
            route = setting.route[:-1] if "pod" in setting.route else setting.route
            if setting.name.startswith("CHECKPOINT_"):
                remedy = "take it out, and write checkpoint: {claim: ..., path: ...}"
            else:
                remedy = "take it out, or give it another name"
            yield Report(
                route,
                f"`{setting.name}` is written for each run: it tells {WHAT[setting.name]}",
                remedy,
                key=True,
            )


WHAT = {
    "RUN_NAME": "which run this is",
    "RUN_NUMBER": "which run of the job this is",
    "RUN_LINEAGE": "which runs share its checkpoints",
    "CHECKPOINT_DIR": "where its checkpoints are",
    "CHECKPOINT_EVERY": "how often it saves itself",
    "CHECKPOINT_KEEP": "how many checkpoints it keeps",
    "CHECKPOINT_FROM": "which checkpoints it starts from",
    "SOURCE_COMMIT": "which declarations started it",
}
