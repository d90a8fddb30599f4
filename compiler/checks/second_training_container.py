"""A second container has the name of the training container.

## What it does
Reports a sidecar or an init container named `pytorch`. In `pod:` an item of `containers` with this
name is no second one: it is merged into the training container.

## Why it is bad
The training operator finds the container to run by its name `pytorch`, and names of containers
must differ within a pod: the pods would be refused.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
sidecars:
  - {name: pytorch, image: llm-sft, command: [sleep, infinity]}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
sidecars:
  - {name: keeper, image: llm-sft, command: [sleep, infinity]}
```

## References
- kubeflow/trainer#1563
- NascentCore/3k#401
- k8s.io/api core/v1, Container.name
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.passthrough import CONTAINER, fragments, places
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH511",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubeflow/trainer#1563", "NascentCore/3k#401"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """Companions and init containers with the training container's name."""
    message = f"`{CONTAINER}` is the name of the training container"
    remedy = "give this container another name"
    for member in run.members:
        for field, companions in (("sidecars", member.sidecars), ("init", member.init)):
            for index, companion in enumerate(companions):
                if companion.name == CONTAINER:
                    yield Report(run.routes(member, field, index, "name"), message, remedy)
    for _, at, pod in fragments(run):
        for route, container in places(pod.get("spec"), "initContainers", (*at, "spec")):
            if container.get("name") == CONTAINER:
                yield Report(
                    (*route, "name"),
                    message,
                    "give this container another name, or move it to `containers` to merge it",
                )
