"""Accelerators are asked for under `pod:`.

## What it does
Reports a catalogue accelerator's resource under `pod:` in another number than the job's
`accelerators`, or in another container than the training container.

## Why it is bad
The number of processes, the quota, the price and the shape of a node follow from `accelerators`.
Devices that are asked for past it are counted nowhere, and the launcher does not use them.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
pod:
  spec:
    containers:
      - name: pytorch
        resources: {requests: {nvidia.com/gpu: 4}, limits: {nvidia.com/gpu: 4}}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- kubernetes-sigs/kueue, docs of ClusterQueue (resources covered by a queue)
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.containers import containers
from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.passthrough import CONTAINER
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="RES409", severity=Severity.ERROR, stage="run", sources=("kubernetes/kubernetes#57170",)
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """Accelerators that a fragment asks for past the job's own field."""
    catalogue = (site.cluster.value.accelerators or {}).values()
    resources = {accelerator.resource for accelerator in catalogue}
    for member in run.members:
        devices = member.devices
        for part in containers(run, member):
            main = part.name == CONTAINER and not part.init
            for name in sorted(resources & part.limits.keys()):
                limit, request = part.limits[name], part.requests.get(name)
                # Amounts that differ are reported by unequal-device-requests.
                if "pod" not in limit.route[:2] or request is None or request.value != limit.value:
                    continue
                if not main:
                    message = f"`{name}` of the container {part.name} is counted nowhere"
                    remedy = "take it out: accelerators go to the training container"
                elif devices is None or devices.resource != name:
                    message = f"`{name}` is set to {limit.value} past the job's `accelerators`"
                    remedy = "write `accelerators:` instead, and take it out here"
                elif limit.value.value != devices.count:
                    message = (
                        f"`{name}` is set to {limit.value}, and `accelerators` asks for"
                        f" {devices.count}"
                    )
                    remedy = "write the number in `accelerators`, and take it out here"
                else:
                    continue
                yield Report(limit.route, message, remedy)
