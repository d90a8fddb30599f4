"""Two containers of a pod have one name.

## What it does
Compares the names of `sidecars`, `init` and the containers of `pod:`, which are containers of one
pod, and with the operator's own init container `init-pytorch`. An item of `pod:` with the name of
a container in the same list is no second one: it is merged into it. Sidecars are init containers
to Kubernetes.

## Why it is bad
The API server refuses a pod in which two containers have one name. Where both are in one list, it
refuses the PyTorchJob itself; where one is a sidecar or an init container and the other is not, it
does so only when the pods are made: the run is admitted and has none.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
memory: 1500Gi
sidecars:
  - {name: metrics, image: gpu-exporter, memory: 1Gi}
init:
  - {name: metrics, image: llm-sft, command: [nvidia-smi], memory: 1Gi}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
memory: 1500Gi
sidecars:
  - {name: metrics, image: gpu-exporter, memory: 1Gi}
init:
  - {name: devices, image: llm-sft, command: [nvidia-smi], memory: 1Gi}
```

## References
- k8s.io/kubernetes: pkg/apis/core/validation/validation.go (validateInitContainers)
- kubeflow/trainer: pkg/controller.v1/pytorch/initcontainer.go
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Member, Route, Run
from compiler.nodes import Scalar
from compiler.passthrough import CONTAINER, fragments, places
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH513",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "k8s.io/kubernetes: pkg/apis/core/validation/validation.go",
        "kubeflow/trainer: pkg/controller.v1/pytorch/initcontainer.go",
    ),
)
OPERATORS = "init-pytorch"


def check(run: Run, site: Site) -> Iterator[Report]:
    """The containers whose name another one of the pod has."""
    for member in run.members:
        known: dict[str, tuple[str, Route]] = {}
        for name, kind, route in _named(run, member):
            if name == OPERATORS and site.backend == "pytorchjob" and run.nodes > 1:
                yield Report(
                    route,
                    f"`{name}` is the init container that the training operator adds",
                    "give this container another name",
                )
                continue
            earlier = known.setdefault(name, (kind, route))
            if earlier[1] is route or (earlier[0] == kind and "pod" in route[:2]):
                continue
            yield Report(
                route,
                f"two containers of the pod are called `{name}`",
                "give one of them another name",
                ((earlier[1], "the other one"),),
            )


def _named(run: Run, member: Member) -> Iterator[tuple[str, str, Route]]:
    """The names of the containers beside the training container, each with its list in the pod."""
    for field, companions in (("init", member.init), ("sidecars", member.sidecars)):
        for index, companion in enumerate(companions):
            # Another rule tells of the training container's own name.
            if companion.name != CONTAINER:
                yield companion.name, "initContainers", run.routes(member, field, index, "name")
    for of_member, at, pod in fragments(run):
        for kind in ("initContainers", "containers") if of_member is member else ():
            for route, container in places(pod.get("spec"), kind, (*at, "spec")):
                name = container.get("name")
                if isinstance(name, Scalar) and name != CONTAINER:
                    yield str(name), kind, (*route, "name")
