"""A pod may run as root where the namespace refuses root.

## What it does
Reports, on clusters whose Pod Security level is `restricted`, the user 0, `non_root: false`, and
pods that leave open whether they run as root: in `security`, in `pod:` and in a base.

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
security: {run_as_user: 0, non_root: true}
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
- k8s.io/pod-security-admission: policy/check_runAsNonRoot.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.security.posture import found
from compiler.site import Site

RULE = Rule(
    code="SEC914",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubernetes.io: concepts/security/pod-security-standards",
        "k8s.io/pod-security-admission: policy/check_runAsNonRoot.go",
    ),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """What lets a container be root."""
    every = list(found(run, site, "non-root", "user"))
    asked = any(one.breach.control == "user" for one in every)
    for one in every:
        if one.breach.control == "user":
            message, remedy = f"{one.who} runs as root, {one.refusal}", "write another user id"
        elif one.breach.value is not None:
            message = f"{one.who} is allowed to run as root, {one.refusal}"
            remedy = "write true"
        elif asked:
            # Whoever writes another user is told the rest when that is right.
            continue
        else:
            who = one.who if one.breach.container else "some container"
            message = f"{who} may run as root, {one.refusal}"
            remedy = "add security: {non_root: true}, and a run_as_user where the image says none"
        yield one.report(message, remedy)
