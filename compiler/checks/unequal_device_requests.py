"""A device is requested and limited in different numbers.

## What it does
Looks at the resources of each container that `pod:` touches, merged with what the run sets itself:
an extended resource (`nvidia.com/gpu`, `rdma/...`) or huge pages with a request and no limit, or
with two different numbers.

## Why it is bad
Kubernetes cannot share such resources out: request and limit must be the same number. The object
is accepted, and its pods are refused again and again, which only the operator's log says.

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
        resources: {requests: {smarter-devices/fuse: 1}}
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
      - name: pytorch
        resources:
          requests: {smarter-devices/fuse: 1}
          limits: {smarter-devices/fuse: 1}
```

## References
- kubernetes/kubernetes#57170
- nebius/soperator#161
- k8s.io/kubernetes pkg/apis/core/validation
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.poddevices import asked
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="RES410",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubernetes/kubernetes#57170", "nebius/soperator#161"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """Device resources whose request and limit differ once `pod:` is merged in."""
    for amounts in asked(run, site):
        if amounts.equal:
            continue
        name, request, limit = amounts.name, amounts.request, amounts.limit
        message = (
            f"`{name}` is requested, and has no limit"
            if limit is None
            else f"`{name}` is requested {request} times and limited to {limit}"
        )
        remedy = "write the same number under requests and limits"
        if amounts.counted:
            remedy = "take it out here: `accelerators` sets both"
        yield Report(amounts.route, message, remedy, amounts.related)
