"""The node that the others wait for has a readiness probe.

## What it does
Reports a readiness or startup probe on the training container of the first node, in a PyTorchJob
with several nodes.

## Why it is bad
The other nodes find the first one by the name of its Service, and the operator's Services have no
address for a pod that is not ready. A probe that waits for the training to begin waits for nodes
that wait for the probe: nobody starts, and all accelerators are held.

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
        readinessProbe: {tcpSocket: {port: 8080}}
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
        livenessProbe: {tcpSocket: {port: 8080}, initialDelaySeconds: 3600}
```

## References
- kubeflow/pytorch-operator#333
- training-operator 1.9, pkg/controller.v1/common/service.go
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.passthrough import CONTAINER, fragments, places
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH512", severity=Severity.ERROR, stage="run", sources=("kubeflow/pytorch-operator#333",)
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """Probes that hold back the name of the node that the others look for."""
    if site.backend != "pytorchjob" or run.nodes == 1:
        return
    # An elastic run has no master; its nodes meet at worker 0, which is like all others.
    awaited = run.others if run.elastic is not None else run.first
    for member, at, pod in fragments(run):
        if member is not awaited:
            continue
        for route, container in places(pod.get("spec"), "containers", (*at, "spec")):
            for probe in ("readinessProbe", "startupProbe"):
                if container.get("name") == CONTAINER and probe in container:
                    yield Report(
                        (*route, probe),
                        "the other nodes wait for the first one's name, and it has none until"
                        f" its {probe} has passed",
                        "take it out: a livenessProbe does not hold the name back",
                        key=True,
                    )
