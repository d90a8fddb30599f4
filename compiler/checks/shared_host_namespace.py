"""A pod shares a namespace of its node.

## What it does
Reports `hostPID` and `hostIPC` at every Pod Security level, and `host_network` where the level is
`baseline` or `restricted`.

## Why it is bad
A pod that sees the processes of the node can read their environment and their memory, with the
credentials of other teams in them. One on the node's network passes all network policies. A
namespace at `baseline` refuses both, and the run has no pods.

## Example
```yaml
# jobs/speech/example.yaml
image: tts
command: [torchrun, -m, tts.train]
cluster: east
accelerators: MI300X:8
max_duration: 24h
host_network: true
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
- k8s.io/pod-security-admission: policy/check_hostNamespaces.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.security.posture import found
from compiler.site import Site

RULE = Rule(
    code="SEC912",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubernetes.io: concepts/security/pod-security-standards",
        "k8s.io/pod-security-admission: policy/check_hostNamespaces.go",
    ),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The namespaces that are shared with the node."""
    for one in found(run, site, "host-namespaces"):
        field = one.breach.path[-1]
        if field == "hostNetwork":
            message = f"the pods use the network of their nodes, {one.refusal}"
            remedy = "take it out; NCCL finds the interfaces of the pod's own network"
        else:
            what = {"hostPID": "processes", "hostIPC": "shared memory"}[field]
            message = f"`{field}` shows the pod the {what} of its node, {one.refusal}"
            remedy = "take it out" if field == "hostPID" else "take it out, and set `shm_size`"
        yield one.report(message, remedy)
