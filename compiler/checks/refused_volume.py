"""A volume is of a kind that the namespace refuses.

## What it does
Reports host paths where the Pod Security level is `baseline` or `restricted`, and at `restricted`
every volume that is not a claim, a ConfigMap, a Secret, an empty folder or the like (NFS, for
instance), in `pod:` and in a base.

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
    volumes: [{name: cache, hostPath: {path: /mnt/cache}}]
```

## Use instead
```yaml
# jobs/speech/example.yaml
image: tts
command: [torchrun, -m, tts.train]
cluster: east
accelerators: MI300X:8
max_duration: 24h
mounts: {/cache: {scratch: 100Gi}}
```

## References
- kubernetes.io: concepts/security/pod-security-standards
- k8s.io/pod-security-admission: policy/check_restrictedVolumes.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.security.posture import found
from compiler.site import Site

RULE = Rule(
    code="SEC918",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubernetes.io: concepts/security/pod-security-standards",
        "k8s.io/pod-security-admission: policy/check_restrictedVolumes.go",
    ),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The volumes of a kind that the level refuses."""
    for one in found(run, site, "host-path", "volume-types"):
        if one.breach.control == "host-path":
            message = f"the pods mount a folder of their nodes, {one.refusal}"
            remedy = "mount a claim or a scratch folder with `mounts:`"
        else:
            message = f"volumes of the kind `{one.breach.value}` are refused by {one.by}"
            remedy = "make a claim of it, and mount that with `mounts:`"
        yield one.report(message, remedy)
