"""A container adds a capability that it may not have.

## What it does
Reports capabilities in `security`, in `pod:`, in a base and in policy that the Pod Security level
of the namespace refuses: at `baseline` all but the container runtime's defaults, at `restricted`
all but NET_BIND_SERVICE. At `privileged` it reports those that policy does not give under
`multi_node: {capabilities: [...]}` of one of the cluster's accelerators.

## Why it is bad
The API server refuses the pods of such a run: it is admitted, holds its accelerators, and has no
pods. And some capabilities (SYS_ADMIN, SYS_PTRACE, NET_ADMIN) give a container the node.

## Example
```yaml
# jobs/speech/example.yaml
image: tts
command: [torchrun, -m, tts.train]
cluster: east
accelerators: MI300X:8
max_duration: 24h
security: {capabilities: [SYS_PTRACE]}
```

## Use instead
```yaml
# jobs/speech/example.yaml
image: tts
command: [torchrun, -m, tts.train]
cluster: east
accelerators: MI300X:8
max_duration: 24h
```

## References
- kubernetes.io: concepts/security/pod-security-standards
- k8s.io/pod-security-admission: policy/check_capabilities_baseline.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.security.posture import found
from compiler.site import Site

RULE = Rule(
    code="SEC913",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubernetes.io: concepts/security/pod-security-standards",
        "k8s.io/pod-security-admission: policy/check_capabilities_baseline.go",
    ),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The capabilities that the level or policy does not give."""
    for one in found(run, site, "capabilities"):
        if one.level == "privileged":
            message = f"policy gives no run the capability {one.breach.value}"
            remedy = (
                "take it out, or have it listed under multi_node.capabilities in policy/clusters/"
            )
        else:
            message = f"{one.who} adds the capability {one.breach.value}, {one.refusal}"
            remedy = "take it out, or ask the platform team for namespaces of another level"
        yield one.report(message, remedy)
