"""A pod sets a kernel parameter that is not safe.

## What it does
Reports `sysctls` in `pod:` and in a base that are not among those which the Pod Security Standards
call safe in the cluster's version of Kubernetes, where the level is `baseline` or `restricted`.

## Why it is bad
Such a parameter is the whole node's, or was not isolated when that version was made. The API server
refuses the pods of the run: it is admitted, holds its accelerators, and has no pods.

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
    securityContext: {sysctls: [{name: kernel.msgmax, value: "65536"}]}
```

## Use instead
```yaml
# jobs/speech/example.yaml
image: tts
command: [torchrun, -m, tts.train]
cluster: east
accelerators: MI300X:8
max_duration: 24h
pod:
  spec:
    securityContext: {sysctls: [{name: net.ipv4.tcp_rmem, value: 4096 87380 33554432}]}
```

## References
- kubernetes.io: concepts/security/pod-security-standards
- k8s.io/pod-security-admission: policy/check_sysctls.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.security.posture import found
from compiler.site import Site

RULE = Rule(
    code="SEC917",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubernetes.io: concepts/security/pod-security-standards",
        "k8s.io/pod-security-admission: policy/check_sysctls.go",
    ),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The parameters that the level refuses."""
    for one in found(run, site, "sysctls"):
        yield one.report(
            f"the pod sets `{one.breach.value}`, {one.refusal}",
            "take it out, or have it set on the nodes",
        )
