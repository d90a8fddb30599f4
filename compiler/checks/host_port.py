"""A container takes a port of its node.

## What it does
Reports `hostPort` in `pod:` and in a base where the Pod Security level is `baseline` or
`restricted`.

## Why it is bad
The API server refuses the pods of such a run: it is admitted, holds its accelerators, and has no
pods. And two pods with one such port never share a node.

## Example
```yaml
# jobs/speech/example.yaml
image: tts
command: [torchrun, -m, tts.train]
cluster: east
accelerators: MI300X:8
max_duration: 24h
pod:
  spec:
    containers: [{name: pytorch, ports: [{name: metrics, containerPort: 9000, hostPort: 9000}]}]
```

## Use instead
```yaml
# jobs/speech/example.yaml
image: tts
command: [torchrun, -m, tts.train]
cluster: east
accelerators: MI300X:8
max_duration: 24h
ports: {metrics: 9000}
```

## References
- kubernetes.io: concepts/security/pod-security-standards
- k8s.io/pod-security-admission: policy/check_hostPorts.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.security.posture import found
from compiler.site import Site

RULE = Rule(
    code="SEC919",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubernetes.io: concepts/security/pod-security-standards",
        "k8s.io/pod-security-admission: policy/check_hostPorts.go",
    ),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The ports that are the node's."""
    for one in found(run, site, "host-port"):
        yield one.report(
            f"{one.who} takes port {one.breach.value} of its node, {one.refusal}",
            "take `hostPort` out: pods reach each other at their own ports",
        )
