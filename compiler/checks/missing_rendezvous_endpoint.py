"""A rendezvous whose endpoint is not where its backend listens.

## What it does
Reports `backend: etcd` or `etcd-v2` without an `endpoint`, and an endpoint without a port. Reports
an `endpoint` beside c10d, which is the default.

## Why it is bad
Without an endpoint the operator names the first worker, where no etcd listens; without a port it
appends its own, 23456. With c10d the first worker itself keeps the store of the rendezvous: the
operator names it when there is no endpoint, and where another host is named all nodes wait for it
until their time is over.

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
    """The backend without a place, the place without a port, or the place that nobody is at."""
    elastic = run.elastic
    if elastic is None:
        return
    if elastic.backend == "c10d":
        if elastic.endpoint is not None:
            yield Report(
                ("elastic", "endpoint"),
                f"with c10d the first node keeps the store, and no node is `{elastic.endpoint}`",
                "take `endpoint` out, or write backend: etcd beside it",
            )
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
