"""More time to stop than the launcher gives its processes.

## What it does
Reports `stop: {grace: ...}` of more than 30 seconds for a run that torchrun or accelerate starts
in an image whose torch is older than 2.12.

## Why it is bad
torchrun passes SIGTERM on and kills its processes 30 seconds later, whatever the pod has left: a
last checkpoint that takes longer is cut off. From 2.12 on it reads TORCH_ELASTIC_SHUTDOWN_TIMEOUT,
which is set from `grace`.

## Example
```yaml
# images/ddp-mini/image.yaml
entry: [torchrun, train.py]
torch: 2.9.1
```

## Use instead
```yaml
# images/ddp-mini/image.yaml
entry: [torchrun, train.py]
torch: 2.13.0
```

## References
- pytorch/pytorch#119856
- pytorch/pytorch#68258
- pytorch/pytorch#172596
"""

import re
from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.launch import starts_torchrun
from compiler.model import Run
from compiler.quantity import duration_text
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH534",
    severity=Severity.WARNING,
    stage="run",
    sources=(
        "pytorch/pytorch#119856",
        "pytorch/pytorch#68258",
        "pytorch/pytorch#172596",
    ),
)

# The first torch whose torchrun has --shutdown-timeout and reads the variable (#172596).
FIRST = (2, 12)
BUILT_IN = 30


def check(run: Run, site: Site) -> Iterator[Report]:
    """The grace that the processes do not get."""
    if run.grace <= BUILT_IN:
        return
    for member in run.members:
        version = _version(member.image.torch)
        if version is None or version >= FIRST or not starts_torchrun(member.words):
            continue
        about = site.images.get(member.image.name or "")
        related = ((about.place("torch"), "the image's torch"),) if about is not None else ()
        yield Report(
            ("stop", "grace"),
            f"`{duration_text(run.grace)}` to stop, but the torchrun of torch {member.image.torch} "
            "kills its processes after 30 s",
            "use an image with torch 2.12 or newer, or write a checkpoint within 30 s",
            related,
        )


def _version(text: str | None) -> tuple[int, int] | None:
    match = re.match(r"v?([0-9]+)\.([0-9]+)", text or "")
    return None if match is None else (int(match[1]), int(match[2]))
