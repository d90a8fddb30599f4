"""A rendezvous through etcd that does not say where etcd is.

## What it does
Reports `backend: etcd` or `etcd-v2` without an `endpoint`, and an endpoint without a port.

## Why it is bad
Without an endpoint the operator names the first worker, where no etcd listens; without a port it
appends its own, 23456.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: {min: 2, max: 4}
elastic: {backend: etcd}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: {min: 2, max: 4}
elastic: {backend: etcd, endpoint: "etcd.infra:2379"}
```

## References
- kubeflow/training-operator: pkg/controller.v1/pytorch/elastic.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH532",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubeflow/training-operator: pkg/controller.v1/pytorch/elastic.go",),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The backend without a place, or the place without a port."""
    elastic = run.elastic
    if elastic is None or elastic.backend == "c10d":
        return
    if elastic.endpoint is None:
        yield Report(
            ("elastic", "backend"),
            f"`{elastic.backend}` is a service, and nothing says where it is",
            'add endpoint: "HOST:2379" beside it, or write c10d, which needs no service',
        )
        return
    host, _, port = elastic.endpoint.rpartition(":")
    if not host or not port.isdigit():
        yield Report(
            ("elastic", "endpoint"),
            f"`{elastic.endpoint}` has no port, and the operator's own is not etcd's",
            f'write "{elastic.endpoint.rstrip(":")}:2379"',
        )
