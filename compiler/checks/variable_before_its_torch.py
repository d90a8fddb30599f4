"""A variable is set that the image's torch does not read yet.

## What it does
Reports variables that a later torch has brought, in a run whose image says that its torch is older:
TORCH_NCCL_ASYNC_ERROR_HANDLING, TORCH_NCCL_BLOCKING_WAIT, TORCH_NCCL_DESYNC_DEBUG and
TORCH_NCCL_ENABLE_TIMING came with 2.2, TORCH_ELASTIC_SHUTDOWN_TIMEOUT with 2.12.

## Why it is bad
Nobody reads the variable, and nobody says so. The run hangs where it was to end with an error, or
its last checkpoint is cut off.

## Example
```yaml
# images/data-tools/image.yaml
entry: [data-tools]
torch: 2.1.2
```
```yaml
# jobs/vision/embed.yaml
image: data-tools
command: [data-tools, embed]
accelerators: A100-80GB:1
queue: research
max_duration: 2h
env: {TORCH_NCCL_ASYNC_ERROR_HANDLING: "1"}
```

## Use instead
```yaml
# images/data-tools/image.yaml
entry: [data-tools]
torch: 2.4.1
```
```yaml
# jobs/vision/embed.yaml
image: data-tools
command: [data-tools, embed]
accelerators: A100-80GB:1
queue: research
max_duration: 2h
env: {TORCH_NCCL_ASYNC_ERROR_HANDLING: "1"}
```

## References
- pytorch/pytorch#114077
- mosaicml/composer#3266
- pytorch/pytorch#172596
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.programs import training
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.torchbuild import torch_of

RULE = Rule(
    code="LCH546",
    severity=Severity.WARNING,
    stage="run",
    sources=("pytorch/pytorch#114077", "mosaicml/composer#3266", "pytorch/pytorch#172596"),
)

# The first torch that reads each, and what the ones before it read.
FIRST: dict[str, tuple[tuple[int, int], str]] = {
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": ((2, 2), "NCCL_ASYNC_ERROR_HANDLING"),
    "TORCH_NCCL_BLOCKING_WAIT": ((2, 2), "NCCL_BLOCKING_WAIT"),
    "TORCH_NCCL_DESYNC_DEBUG": ((2, 2), "NCCL_DESYNC_DEBUG"),
    "TORCH_NCCL_ENABLE_TIMING": ((2, 2), "NCCL_ENABLE_TIMING"),
    "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": ((2, 12), ""),
}


def check(run: Run, site: Site) -> Iterator[Report]:
    """The variables that are read by later versions alone."""
    for member in run.members:
        torch = torch_of(member.image.torch)
        if torch is None:
            continue
        for setting in training(run, member, site).env:
            first, former = FIRST.get(setting.name, ((0, 0), ""))
            if torch.version >= first:
                continue
            about = site.images.get(member.image.name or "")
            related = ((about.place("torch"), "the image's torch"),) if about is not None else ()
            wanted = f"{first[0]}.{first[1]}"
            yield Report(
                setting.route,
                f"torch reads {setting.name} from {wanted} on, and `{member.image.name}` has"
                f" {member.image.torch}",
                f"write {former}, or take an image with torch {wanted} or newer"
                if former
                else f"take it out, or take an image with torch {wanted} or newer",
                related,
            )
