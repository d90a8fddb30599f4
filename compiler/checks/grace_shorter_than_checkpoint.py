"""A run is killed before its last checkpoint is written.

## What it does
Compares `stop: {grace: ...}` with `checkpoint_takes` of the image, which says how long one of its
checkpoints takes to write. Images that do not say it are left alone.

## Why it is bad
A run that is stopped or preempted gets SIGTERM, and SIGKILL when the grace is over. A checkpoint
that is not complete by then is lost, with all steps since the one before, or is left in pieces
that the next start trips over.

## Example
```yaml
# images/llm-sft/image.yaml
entry: [torchrun, train.py]
torch: 2.13.0
checkpoint_takes: 15m
```

## Use instead
```yaml
# images/llm-sft/image.yaml
entry: [torchrun, train.py]
torch: 2.13.0
checkpoint_takes: 2m
```

## References
- petuum/adaptdl#70
- kubeflow/trainer#3324
- pytorch/pytorch#68258
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.quantity import duration_text
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH544",
    severity=Severity.WARNING,
    stage="run",
    sources=("petuum/adaptdl#70", "kubeflow/trainer#3324", "pytorch/pytorch#68258"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The grace in which the image cannot save itself."""
    if run.checkpoint is None:
        return
    for member in run.members:
        about = site.images.get(member.image.name or "")
        if about is None or about.value.checkpoint_takes is None:
            continue
        takes = about.value.checkpoint_takes
        if run.grace >= takes:
            continue
        route = ("stop", "grace")
        yield Report(
            route if run.origins.set(route) else ("checkpoint",),
            f"{duration_text(run.grace)} to stop, and a checkpoint of `{about.name}` takes "
            f"{duration_text(takes)}",
            f"write stop: {{grace: {duration_text(2 * takes)}}}",
            ((about.place("checkpoint_takes"), "the image says so"),),
        )
        return
