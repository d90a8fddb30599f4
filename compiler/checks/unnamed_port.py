"""A port of the training container has no name, or stands for two protocols.

## What it does
Reports ports that `pod:` adds to the training container of a PyTorchJob without a name, and a
number that is listed for two protocols.

## Why it is bad
The operator makes a Service for each pod and copies all ports of this container into it, as TCP.
Kubernetes refuses a Service with several ports of which one has no name, or with one number twice;
the job then loops in an error while its pods hold their accelerators.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
pod:
  spec:
    containers:
      - name: pytorch
        ports: [{containerPort: 9400}]
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
pod:
  spec:
    containers:
      - name: pytorch
        ports: [{containerPort: 9400, name: metrics}]
```

## References
- training-operator 1.9, pkg/controller.v1/common/service.go
- k8s.io/kubernetes pkg/apis/core/validation, ValidateService
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Member, Route, Run
from compiler.nodes import Mapping
from compiler.passthrough import CONTAINER, fragments, places
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="NET610",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubeflow/training-operator: pkg/controller.v1/common/service.go",),
)

RENDEZVOUS = "23456"


def check(run: Run, site: Site) -> Iterator[Report]:
    """Ports of the training container that its Service could not have."""
    if site.backend != "pytorchjob":
        return
    for member, at, pod in fragments(run):
        for route, container in places(pod.get("spec"), "containers", (*at, "spec")):
            if container.get("name") == CONTAINER:
                yield from _ports(run, member, container, route)


def _ports(run: Run, member: Member, container: Mapping, at: Route) -> Iterator[Report]:
    # What the run's own ports are called, and for which protocol each number is there.
    named = {str(number) for _, number in member.ports}
    if not run.host_network:
        # With the host's network the run has a number of its own.
        named.add(RENDEZVOUS)
    protocols = dict.fromkeys(named, "TCP")
    for route, port in places(container, "ports", at):
        number, protocol = str(port.get("containerPort")), str(port.get("protocol") or "TCP")
        there = protocols.setdefault(number, protocol)
        if protocol != there:
            yield Report(
                (*route, "containerPort"),
                f"port {number} is listed for {there} and for {protocol}; a Service has it once",
                "keep one of the two",
            )
        elif not port.get("name") and number not in named:
            yield Report(
                (*route, "containerPort"),
                f"port {number} has no name, without which the pod's Service is refused",
                "add a name of at most 15 letters: name: metrics",
            )
