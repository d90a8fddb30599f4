"""The API server refuses a value under `pod:`.

## What it does
Compares values and names under `pod:` with what Kubernetes admits beyond their type: names of
volumes, ports and keys, ranges of numbers, paths inside a volume, fields that need or exclude one
another, probes and hooks that do nothing, hooks longer than the grace, sources of volumes that lack
something, and mounts of volumes that the pod does not have.

## Why it is bad
A PyTorchJob's template is not looked at in this depth when it is applied. The pods are refused when
the operator makes them: the run is admitted, holds its accelerators, and never has a pod. (A Job is
refused at once.)

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
        lifecycle: {preStop: {}}
        volumeMounts: [{name: cache, mountPath: /cache}]
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
        lifecycle: {preStop: {exec: {command: [sync]}}}
        volumeMounts: [{name: cache, mountPath: /cache}]
```

## References
- k8s.io/kubernetes: pkg/apis/core/validation/validation.go
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.backends import backends
from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.passthrough import fragments, typed
from compiler.podneeds import refusals
from compiler.podtemplate import template
from compiler.rules import Report, Rule
from compiler.security.below import template_of
from compiler.site import Site

RULE = Rule(
    code="DEC222",
    severity=Severity.ERROR,
    stage="run",
    sources=("k8s.io/kubernetes: pkg/apis/core/validation/validation.go",),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The values of each member's `pod:` that the API server refuses."""
    for member, route, pod in fragments(run):
        ours = template(run, member, site, restart_policy=None, ports=[])
        bases = [template_of(site, where) for where in backends()[site.backend].target.templates]
        for report in refusals(pod, typed(pod), (ours, *bases)):
            yield Report((*route, *report.route), report.message, report.help, key=report.key)
