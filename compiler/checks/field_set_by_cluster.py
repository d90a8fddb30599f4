"""A field under `pod:` is the cluster's to set.

## What it does
Reports the fields of the pod spec that schedulers and admission set: `nodeName`,
`schedulingGates`, `priority`, `preemptionPolicy` and `overhead`.

## Why it is bad
A pod with a node is started there at once, past the queue's flavor and whatever is free on it. A
pod with a scheduling gate waits until a controller of the cluster lifts the gate; here none does,
and the run holds its quota meanwhile. The API server computes the other three, from the priority
class and the runtime class, and refuses pods that bring another value: the run is admitted, holds
its accelerators, and never has a pod.

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
    priority: 5
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
priority: high
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- k8s.io/kubernetes: plugin/pkg/admission/priority/admission.go
- k8s.io/kubernetes: plugin/pkg/admission/runtimeclass/admission.go
- kubernetes/enhancements, KEP-3521 (pod scheduling readiness)
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.nodes import Scalar
from compiler.passthrough import fragments, mapped
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="DEC224",
    severity=Severity.ERROR,
    stage="run",
    sources=("k8s.io/kubernetes: plugin/pkg/admission/priority/admission.go",),
)

# Why each is not a job's to say, and what to do.
FIELDS: dict[str, tuple[str, str]] = {
    "nodeName": (
        "the scheduler sets it: a pod that brings its node starts past the queue's flavor",
        "take it out, and choose nodes by `placement` or by spec.affinity.nodeAffinity",
    ),
    "schedulingGates": (
        "a pod with `schedulingGates` waits until something lifts them, and nothing here does",
        "take it out: a run waits in its `queue`",
    ),
    "priority": (
        "the number is computed from the priority class, and a pod that brings another is refused",
        "take it out; the job's own key `priority`, at its top, names the class",
    ),
    "preemptionPolicy": (
        "it is computed from the priority class, and a pod that brings another is refused",
        "take it out; the job's own key `priority`, at its top, names the class",
    ),
    "overhead": (
        "it is computed from the runtime class, and a pod that brings another is refused",
        "take it out: the RuntimeClass says it",
    ),
}
# Of these, an empty value is as good as none.
_AS_GOOD_AS_NONE = frozenset({"nodeName", "schedulingGates"})


def check(run: Run, site: Site) -> Iterator[Report]:
    """Fields of a fragment's pod spec that are not a job's to say."""
    for _, at, pod in fragments(run):
        spec = mapped(pod.get("spec"))
        for field, (why, remedy) in FIELDS.items():
            value = spec.get(field)
            empty = isinstance(value, Scalar) and value.empty
            if field in spec and not empty and (value or field not in _AS_GOOD_AS_NONE):
                yield Report((*at, "spec", field), why, remedy, key=True)
