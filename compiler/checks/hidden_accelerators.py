"""A variable hides accelerators from their container, or names some that it has not.

## What it does
Reports CUDA_VISIBLE_DEVICES (on AMD's also HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES) of a
training container that leaves fewer accelerators visible than `accelerators` gives it, or names
numbers beyond them. Identifiers of devices, and parts of a device (MIG), are left alone.

## Why it is bad
The device plugin gives a container its own accelerators, numbered from 0. Of those that are hidden
nobody makes use, and they are paid for; torchrun starts a process for each all the same, which ends
with "invalid device ordinal". A number that is not there hides all that are named behind it.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
env: {CUDA_VISIBLE_DEVICES: "0,1,2,3"}
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
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
- kubernetes/kubernetes#46007
- sgl-project/sglang#9451
"""

import re
from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.programs import training
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH552",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubernetes/kubernetes#46007",
        "sgl-project/sglang#9451",
    ),
)

_VARIABLES = {
    "nvidia.com": frozenset({"CUDA_VISIBLE_DEVICES"}),
    "amd.com": frozenset({"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}),
}
_NUMBERS = re.compile(r"\s*(?:[0-9]{1,3}\s*(?:,\s*[0-9]{1,3}\s*)*)?", re.ASCII)
_NONE = frozenset({"-1", "NoDevFiles"})


def check(run: Run, site: Site) -> Iterator[Report]:
    """The variables whose numbers are not those of the accelerators."""
    told: set[object] = set()
    for member in run.members:
        devices = member.devices
        if devices is None or devices.count < 1 or "mig" in devices.resource:
            continue
        names = _VARIABLES.get(devices.resource.partition("/")[0], frozenset[str]())
        for setting in training(run, member, site).env:
            if setting.name not in names or setting.value is None or setting.route in told:
                continue
            message = _wrong(setting.name, setting.value, devices.count)
            if message is not None:
                told.add(setting.route)
                yield Report(
                    setting.route,
                    message,
                    f"take {setting.name} out: the container sees its own accelerators and no "
                    "others, and torchrun gives each process one",
                )


def _wrong(name: str, value: str, count: int) -> str | None:
    if value.strip() in _NONE:
        value = ""
    if not _NUMBERS.fullmatch(value):
        return None
    numbers = [int(number) for number in re.findall(r"[0-9]+", value)]
    beyond = next((number for number in numbers if number >= count), None)
    if beyond is not None:
        there = "one, which is 0" if count == 1 else f"{count}, which are 0 to {count - 1}"
        return f"{name} names accelerator {beyond}, and the container has {there}"
    left = len(set(numbers))
    if left == count:
        return None
    if not left:
        return f"{name} hides all accelerators of the container, which has {count}"
    return f"{name} leaves {left} of the container's {count} accelerators visible"
