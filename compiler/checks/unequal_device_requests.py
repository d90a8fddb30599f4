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
        resources: {requests: {rdma/hca_shared_devices_a: 1}}
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
          requests: {rdma/hca_shared_devices_a: 1}
          limits: {rdma/hca_shared_devices_a: 1}
```

## References
- kubernetes/kubernetes#57170
- nebius/soperator#161
- k8s.io/kubernetes pkg/apis/core/validation
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.containers import containers, counted_whole
from compiler.diagnostics import Severity
from compiler.model import Route, Run
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
    for member in run.members:
        for part in containers(run, member):
            for name, request in part.requests.items():
                limit = part.limits.get(name)
                if not counted_whole(name):
                    continue
                if limit is None:
                    message = f"`{name}` is requested, and has no limit"
                elif request.value.value != limit.value.value:
                    message = (
                        f"`{name}` is requested {request.value} times, limited to {limit.value}"
                    )
                else:
                    continue
                yield _report(message, request.route, limit.route if limit else None)


def _report(message: str, request: Route, limit: Route | None) -> Report:
    # Of the two that differ, the one under `pod:` is the mistake: the job's own fields set both.
    routes = [route for route in (limit, request) if route is not None]
    within = [route for route in routes if "pod" in route[:2]]
    at = within[0] if within else request
    related = tuple((route, "the other number") for route in routes if route != at)
    if related and related[0][0] not in within:
        remedy = f"take it out here: `{related[0][0][-1]}` sets both"
        if "resources" in related[0][0]:
            remedy = "take it out here: `resources` sets both"
    else:
        remedy = "write the same number under requests and limits"
    return Report(at, message, remedy, related)
