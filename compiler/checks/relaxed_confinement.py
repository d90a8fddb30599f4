"""A container is let out of its confinement.

## What it does
Reports seccomp and AppArmor profiles other than RuntimeDefault and Localhost, SELinux users, roles
and types, and an unmasked /proc, in `pod:` and in a base, where the Pod Security level is
`baseline` or `restricted`; at `restricted` also pods without a seccomp profile.

## Why it is bad
The API server refuses the pods of such a run: it is admitted, holds its accelerators, and has no
pods.

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
    securityContext: {seccompProfile: {type: Unconfined}}
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
- k8s.io/pod-security-admission: policy/check_seccompProfile_baseline.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.security.posture import found
from compiler.site import Site

RULE = Rule(
    code="SEC916",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubernetes.io: concepts/security/pod-security-standards",
        "k8s.io/pod-security-admission: policy/check_seccompProfile_baseline.go",
    ),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The profiles that the level refuses or misses."""
    for one in found(run, site, "confinement"):
        field = one.breach.path[-1] if one.breach.value is None else one.breach.path[-2]
        if one.breach.value is None:
            message = f"{one.who} has no seccomp profile, {one.refusal}"
            remedy = (
                "add securityContext: {seccompProfile: {type: RuntimeDefault}} to the base's pod"
            )
        elif field in ("seccompProfile", "appArmorProfile"):
            what = {"seccompProfile": "seccomp", "appArmorProfile": "AppArmor"}[field]
            message = f"the {what} profile `{one.breach.value}` of {one.who} is refused by {one.by}"
            remedy = "write RuntimeDefault, or take it out"
        else:
            field = one.breach.path[-1]
            message = f"`{field}: {one.breach.value}` of {one.who} is refused by {one.by}"
            remedy = "take it out"
        yield one.report(message, remedy)
