"""The restart policy of a pod template does not count.

## What it does
Reports `restartPolicy` in the pod spec. (A container's own `restartPolicy`, which makes an init
container a sidecar, is another field and is left alone.)

## Why it is bad
The training operator overwrites it with the policy of the replica type, with no more than a
warning event; in a Job it would undo how `retry` is carried out. Either way the run restarts
differently from what the file says.

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
    restartPolicy: OnFailure
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
retry: {max: 3}
```

## References
- kubeflow/trainer#2045
- training-operator 1.9, pkg/controller.v1/common/pod.go
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.passthrough import fragments, mapped
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH510",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubeflow/trainer#2045", "kubeflow/trainer#1589"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """A restart policy in the pod spec of a fragment."""
    for _, at, pod in fragments(run):
        if "restartPolicy" in mapped(pod.get("spec")):
            why = (
                "the operator overwrites the template's restart policy"
                if site.backend == "pytorchjob"
                else "how the pods restart follows from `retry`"
            )
            yield Report(
                (*at, "spec", "restartPolicy"),
                why,
                "take it out, and write retry: {max: 3} at the top of the job where it may restart",
                key=True,
            )
