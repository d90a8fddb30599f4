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
      - name: viewer
        image: registry.example.com/mirror/viewer:2.1
        resources: {limits: {nvidia.com/gpu: 1}}
```

## Use instead
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
      - name: viewer
        image: registry.example.com/mirror/viewer:2.1
        resources: {limits: {memory: 2Gi}}
```

## References
- kubernetes-sigs/kueue, docs of ClusterQueue (resources covered by a queue)
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.passthrough import CONTAINER
from compiler.poddevices import asked
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="RES409", severity=Severity.ERROR, stage="run", sources=("kubernetes/kubernetes#57170",)
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """Accelerators that a fragment asks for past the job's own field."""
    catalogue = (site.cluster.value.accelerators or {}).values()
    resources = {accelerator.resource for accelerator in catalogue}
    for amounts in asked(run, site):
        devices = amounts.member.devices
        own = amounts.counted and devices is not None and amounts.limit == str(devices.count)
        if amounts.name not in resources or not amounts.equal or own:
            continue
        if amounts.container == CONTAINER:
            message = f"`{amounts.name}` is set to {amounts.limit} past the job's `accelerators`"
            remedy = "write the number in `accelerators`, and take it out here"
        else:
            message = f"`{amounts.name}` of this container is counted nowhere"
            remedy = "take it out: accelerators go to the training container"
        yield Report(amounts.route, message, remedy, amounts.related)
