"""The restart policy of a pod template does not count.

## What it does
Reports `restartPolicy` in the pod spec, and `restartPolicy` and `restartPolicyRules` of a container
under `pod:`. (`restartPolicy: Always` of an init container, which makes a sidecar of it, is left
alone.)

## Why it is bad
The training operator overwrites it with the policy of the replica type, with no more than a
warning event; in a Job it would undo how `retry` is carried out. Either way the run restarts
differently from what the file says. A policy of a container depends on the cluster's version:
before Kubernetes 1.34 the pods are refused for it, 1.34 drops it unless a feature gate is on, and
later ones follow it, past `retry`.

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
from compiler.model import Route, Run
from compiler.nodes import Mapping
from compiler.passthrough import fragments, mapped, places
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
        for kind in ("initContainers", "containers"):
            for where, container in places(pod.get("spec"), kind, (*at, "spec")):
                yield from _of_container(container, where, kind)


def _of_container(container: Mapping, at: Route, kind: str) -> Iterator[Report]:
    sidecar = kind == "initContainers" and container.get("restartPolicy") == "Always"
    field = next((n for n in ("restartPolicy", "restartPolicyRules") if n in container), None)
    if field is None or (sidecar and "restartPolicyRules" not in container):
        return
    yield Report(
        (*at, "restartPolicyRules" if sidecar else field),
        "a container restarts with its run only: a policy of its own does not count",
        (
            "take it out, or write Always for a sidecar"
            if kind == "initContainers" and not sidecar
            else "take it out, and write retry: {max: 3} at the top of the job where it may restart"
        ),
        key=True,
    )
