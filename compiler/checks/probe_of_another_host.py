"""A probe or hook asks another host.

## What it does
Reports `host` in the probes and lifecycle hooks of containers, in `pod:` and in a base, where the
Pod Security level is `baseline` or `restricted` and the cluster has Kubernetes 1.34 or newer.

## Why it is bad
The kubelet would send the request from the node's own network, wherever the pod tells it to. The
API server refuses the pods of such a run: it is admitted, holds its accelerators, and has no pods.

## Example
```sh
sed -i 's/kubernetes: 1.32.8/kubernetes: 1.34.1/' policy/clusters/east.yaml
```

```yaml
# jobs/speech/example.yaml
image: tts
command: [torchrun, -m, tts.train]
cluster: east
accelerators: MI300X:8
max_duration: 24h
pod:
  spec:
    containers:
      - {name: pytorch, livenessProbe: {httpGet: {port: 9000, host: 10.0.0.1}}}
```

## Use instead
```sh
sed -i 's/kubernetes: 1.32.8/kubernetes: 1.34.1/' policy/clusters/east.yaml
```

```yaml
# jobs/speech/example.yaml
image: tts
command: [torchrun, -m, tts.train]
cluster: east
accelerators: MI300X:8
max_duration: 24h
pod:
  spec:
    containers:
      - {name: pytorch, livenessProbe: {httpGet: {port: 9000}}}
```

## References
- kubernetes.io: concepts/security/pod-security-standards
- k8s.io/pod-security-admission: policy/check_hostProbesAndhostLifecycle.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.security.posture import found
from compiler.site import Site

RULE = Rule(
    code="SEC923",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubernetes.io: concepts/security/pod-security-standards",
        "k8s.io/pod-security-admission: policy/check_hostProbesAndhostLifecycle.go",
    ),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The hosts in probes and hooks."""
    for one in found(run, site, "probe-host"):
        yield one.report(
            f"{one.who} has its node ask `{one.breach.value}`, {one.refusal}",
            "take `host` out: the pod itself is asked",
        )
