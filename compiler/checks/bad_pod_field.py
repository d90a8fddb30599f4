"""A field under `pod:` is none of Kubernetes' pod template.

## What it does
Compares `pod:` with the pod template of the Kubernetes API: unknown fields (with the nearest name),
values of another type, words that Kubernetes does not know, fields that must be there, items of a
keyed list that are listed twice, two sources for one volume or variable. What the template of the
run already has under the same name need not be said again.

## Why it is bad
Under server-side apply the API server refuses an object with a field that it does not know, or
with a value of another type, and with it a syncer applies nothing of the folder. By any other way
such a field is dropped, and the run starts without it. Words that Kubernetes does not know, and
two sources for one volume, pass in a PyTorchJob: its pods are refused when the operator makes them.

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
        volumeMount: [{name: cache, mountPath: /cache}]
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
    volumes: [{name: cache, emptyDir: {sizeLimit: 10Gi}}]
    containers:
      - name: pytorch
        volumeMounts: [{name: cache, mountPath: /cache}]
```

## References
- k8s.io/api core/v1, PodTemplateSpec
- kubernetes/kubernetes#12889
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.nodes import Mapping, Scalar
from compiler.podproblems import problems
from compiler.podtemplate import template
from compiler.rules import Report, Rule
from compiler.scalars import shown
from compiler.site import Site

RULE = Rule(
    code="DEC220",
    severity=Severity.ERROR,
    stage="run",
    sources=("k8s.io/api: core/v1/types.go", "kubernetes/kubernetes#12889"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """What is wrong with the shape of each member's `pod:`."""
    for member in run.members:
        route = run.routes(member, "pod")
        node = run.origins.node(route)
        if isinstance(node, Mapping):
            if node:
                below = template(run, member, site, restart_policy=None, ports=[])
                yield from problems(node, route, below)
        elif node is not None:
            nothing = isinstance(node, Scalar) and node.empty
            found = "there is nothing here" if nothing else f"{shown(node)} stands here"
            yield Report(
                route,
                f"{found}, where fields of a pod template are wanted",
                "write the fields below it (metadata, spec), or take the line out",
            )
