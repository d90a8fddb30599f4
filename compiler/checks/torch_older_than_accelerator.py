"""The image's torch is older than the accelerator.

## What it does
Compares `torch:` of image.yaml with the first published build that has code for the accelerator's
architecture: torch 2.0 for CUDA 11.8 on Hopper (H100, H200, GH200), 2.7 for CUDA 12.8 on Blackwell
(B200, B300, GB200, GB300). The accelerator is known by its name in the catalogue. Builds of others,
such as NVIDIA's own, are not judged.

## Why it is bad
torch warns once that the device \"is not compatible with the current PyTorch installation\", and
fails at the first kernel: \"no kernel image is available for execution on the device\".

## Example
```yaml
# images/data-tools/image.yaml
entry: [data-tools]
torch: 1.13.1+cu117
```
```yaml
# jobs/nlp/embed.yaml
image: data-tools
command: [data-tools, embed]
accelerators: H100:1
queue: research
max_duration: 2h
```

## Use instead
```yaml
# images/data-tools/image.yaml
entry: [data-tools]
torch: 2.4.1+cu124
```
```yaml
# jobs/nlp/embed.yaml
image: data-tools
command: [data-tools, embed]
accelerators: H100:1
queue: research
max_duration: 2h
```

## References
- pytorch/pytorch#90761
- pytorch/pytorch#110153
- weecology/DeepForest#1090
- ovg-project/kvcached#111
"""

import re
from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.torchbuild import torch_of

RULE = Rule(
    code="OPS844",
    severity=Severity.WARNING,
    stage="run",
    sources=(
        "pytorch/pytorch#90761",
        "pytorch/pytorch#110153",
        "weecology/DeepForest#1090",
        "ovg-project/kvcached#111",
    ),
)

# Names of accelerators, the first torch with code for them, and the first CUDA of its builds.
FIRST = (
    (re.compile(r"(?:^|[^A-Z0-9])(?:H100|H200|H800|H20|GH200)(?![0-9])"), (2, 0), (11, 8)),
    (re.compile(r"(?:^|[^A-Z0-9])(?:G?B[123]00)(?![0-9])"), (2, 7), (12, 8)),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The builds without code for the accelerator's architecture."""
    for member in run.members:
        torch = torch_of(member.image.torch)
        if member.devices is None or torch is None or torch.device in ("cpu", "rocm"):
            continue
        if not member.devices.resource.startswith("nvidia.com/"):
            continue
        name = member.devices.name.upper()
        for names, version, cuda in FIRST:
            if names.search(name) is None:
                continue
            old = torch.plain and torch.version < version
            if torch.cuda is not None:
                old = torch.version < version or torch.cuda < cuda
            if not old:
                continue
            about = site.images.get(member.image.name or "")
            related = ((about.place("torch"), "the image's torch"),) if about is not None else ()
            wanted = f"{version[0]}.{version[1]} for CUDA {cuda[0]}.{cuda[1]}"
            yield Report(
                run.routes(member, "accelerators"),
                f"`{member.image.name}` has torch {member.image.torch}, and the first with code for"
                f" {member.devices.name} is {wanted}",
                f"take an image with torch {wanted} or newer",
                related,
            )
