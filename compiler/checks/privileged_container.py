"""A container is privileged.

## What it does
Reports `privileged: true` of any container, and `hostProcess: true`, in `pod:` or in a base, at
every Pod Security level: the level `privileged` is mostly chosen for one capability that the fast
network needs. Where a team has to have such containers, turn the rule off for it in
policy/rules.yaml.

## Why it is bad
A privileged container has the node: its disks, its kernel, and the pods and credentials of
everybody else on it. Training needs none of it; devices come through device plugins.

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
    containers: [{name: pytorch, securityContext: {privileged: true}}]
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- kubernetes.io: concepts/security/pod-security-standards
- k8s.io/pod-security-admission: policy/check_privileged.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.security.posture import found
from compiler.site import Site

RULE = Rule(
    code="SEC911",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubernetes.io: concepts/security/pod-security-standards",
        "k8s.io/pod-security-admission: policy/check_privileged.go",
    ),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The privileged containers of the pods."""
    for one in found(run, site, "privileged", "host-process"):
        yield one.report(
            f"{one.who} is privileged, {one.refusal}",
            "take it out; accelerators and fast networks are devices, and need no privileges",
        )
