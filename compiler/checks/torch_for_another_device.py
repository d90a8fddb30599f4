"""The image's torch was built for other devices than the run has.

## What it does
Compares the build in `torch:` of image.yaml (`2.13.0+cu130`, `+rocm7.2`, `+cpu`) with the resource
of the accelerators: nvidia.com needs a CUDA build, amd.com one for ROCm, and neither can use one
for CPUs. A version without a build is not judged.

## Why it is bad
The build holds no code for the device. The run starts, finds none, and stops with \"Found no NVIDIA
driver\" on a node full of accelerators; or it goes on, on the node's CPUs.

## Example
```sh
sed -i 's/torch: .*/torch: 2.15.0+cpu/' images/llm-sft/image.yaml
```

## Use instead
```sh
sed -i 's/torch: .*/torch: 2.15.0+cu130/' images/llm-sft/image.yaml
```

## References
- YanWenKun/ComfyUI-Docker#187
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.torchbuild import torch_of

RULE = Rule(
    code="OPS843",
    severity=Severity.ERROR,
    stage="run",
    sources=("YanWenKun/ComfyUI-Docker#187",),
)

NEEDED = {"nvidia.com/": "cuda", "amd.com/": "rocm"}
SHOWN = {"cuda": "CUDA", "rocm": "ROCm", "cpu": "CPUs"}


def check(run: Run, site: Site) -> Iterator[Report]:
    """The builds without code for the run's accelerators."""
    for member in run.members:
        torch = torch_of(member.image.torch)
        if member.devices is None or torch is None or torch.device is None:
            continue
        resource = member.devices.resource
        needed = next((n for prefix, n in NEEDED.items() if resource.startswith(prefix)), None)
        if needed is None or torch.device == needed:
            continue
        about = site.images.get(member.image.name or "")
        related = ((about.place("torch"), "the image's torch"),) if about is not None else ()
        yield Report(
            run.routes(member, "accelerators"),
            f"{member.devices.name} needs torch for {SHOWN[needed]}, and `{member.image.name}` has"
            f" {member.image.torch}, for {SHOWN[torch.device]}",
            f"take an image whose torch was built for {SHOWN[needed]}",
            related,
        )
