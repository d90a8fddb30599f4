"""A container keeps rights that the namespace makes it give up.

## What it does
Reports, on clusters whose Pod Security level is `restricted`, containers without
`allowPrivilegeEscalation: false` or without `drop: [ALL]`. The compiler writes both into every
container that a declaration names in its own words; containers that `pod:` or a base brings, or
changes, must say so themselves.

## Why it is bad
The API server refuses the pods of such a run: it is admitted, holds its accelerators, and has no
pods.

## Example
```sh
rm -rf jobs/* policy/waivers
sed -i 's/^pod_security: .*/pod_security: restricted/' policy/clusters/west.yaml
```

```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
security: {run_as_user: 1000, non_root: true}
pod:
  spec:
    containers:
      - {name: pytorch, securityContext: {allowPrivilegeEscalation: true}}
```

## Use instead
```sh
rm -rf jobs/* policy/waivers
sed -i 's/^pod_security: .*/pod_security: restricted/' policy/clusters/west.yaml
```

```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
security: {run_as_user: 1000, non_root: true}
```

## References
- kubernetes.io: concepts/security/pod-security-standards
- k8s.io/pod-security-admission: policy/check_allowPrivilegeEscalation.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.security.posture import found
from compiler.site import Site

RULE = Rule(
    code="SEC915",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubernetes.io: concepts/security/pod-security-standards",
        "k8s.io/pod-security-admission: policy/check_allowPrivilegeEscalation.go",
    ),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The containers that keep what they must give up."""
    told: set[tuple[str, object]] = set()
    for one in found(run, site, "escalation", "dropped-capabilities"):
        name, value = one.breach.container, one.breach.value
        if value is None:
            if (name, one.route or one.place) in told:
                continue
            told.add((name, one.route or one.place))
            message = f"{one.who} does not give up all rights that it has no use for"
            remedy = (
                "add securityContext: {allowPrivilegeEscalation: false,"
                " capabilities: {drop: [ALL]}}"
            )
        else:
            message = f"{one.who} may gain privileges, {one.refusal}"
            remedy = "write false"
        yield one.report(message, remedy)
