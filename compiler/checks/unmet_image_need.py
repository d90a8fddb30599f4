"""An image that needs what the job does not give.

## What it does
Reports a job whose image says in its `image.yaml` that it `needs` accelerators, a checkpoint or
several nodes, and that has none.

## Why it is bad
The image's author knows that the program ends at its first line without them: after the queue,
after the pull, on the cluster's time.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- SkyPilot, required fields of a task
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="OPS841",
    severity=Severity.ERROR,
    stage="run",
    sources=("images: image.yaml, needs",),
)


ADVICE = {
    "accelerators": "add `accelerators:`, such as H100:8",
    "checkpoint": "add `checkpoint: {claim: checkpoints, path: /ckpt}`",
    "several-nodes": "add `num_nodes:` with 2 or more",
}


def check(run: Run, site: Site) -> Iterator[Report]:
    """What the image of a run needs, and the run does not have."""
    about = site.images.get(run.others.image.name or "")
    if about is None:
        return
    given = {
        "accelerators": run.others.devices is not None,
        "checkpoint": run.checkpoint is not None,
        "several-nodes": run.nodes > 1,
    }
    for index, need in enumerate(about.value.needs or ()):
        if not given[need]:
            yield Report(
                ("image",),
                f"the image `{about.name}` needs {need}, and this job gives none",
                ADVICE[need],
                ((about.place("needs", index), "the image says so"),),
            )
