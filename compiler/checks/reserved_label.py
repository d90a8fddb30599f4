"""A label or annotation belongs to Kueue, the operator, the syncer or the compiler.

## What it does
Reports labels and annotations under `kueue.x-k8s.io/`, `training.kubeflow.org/`,
`batch.kubernetes.io/`, `argocd.argoproj.io/`, `kustomize.toolkit.fluxcd.io/` and `runwright/`, in
a declaration's own fields and in `pod:`.

## Why it is bad
These are how the parts of a cluster talk about a run. A second queue, a forced replacement or a
hook deletes running jobs or starts finished ones again; the operator overwrites its own labels.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
labels: {kueue.x-k8s.io/queue-name: data}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
labels: {example.com/purpose: evaluation}
```

## References
- fluxcd/kustomize-controller#734
- argoproj/argo-cd#13851
- kubeflow/training-operator: pkg/controller.v1/common/pod.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.marks import marks
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

OWNERS = {
    "kueue.x-k8s.io/": "Kueue reads and writes it, and finds it on the run as the compiler sets it",
    "training.kubeflow.org/": "the operator writes it, and finds its pods by it",
    "batch.kubernetes.io/": "the Job controller writes it, and finds its pods by it",
    "argocd.argoproj.io/": "a hook, a wave or a replacement would delete runs or start them again",
    "kustomize.toolkit.fluxcd.io/": "a forced apply would delete runs and start them again",
    "runwright/": "the compiler writes it, and knows its runs by it",
}
FIELDS = {
    "kueue.x-k8s.io/queue-name": "write `queue:` instead",
    "kueue.x-k8s.io/priority-class": "write `priority:` instead",
    "kueue.x-k8s.io/max-exec-time-seconds": "write `max_duration:` instead",
    "kueue.x-k8s.io/podset-required-topology": "write `topology: {required: ...}` instead",
    "kueue.x-k8s.io/podset-preferred-topology": "write `topology: {preferred: ...}` instead",
}

RULE = Rule(
    code="OPS823",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "fluxcd/kustomize-controller#734",
        "argoproj/argo-cd#13851",
        "kubeflow/training-operator: pkg/controller.v1/common/pod.go",
    ),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The labels and annotations that belong to others."""
    for member in run.members:
        for mark in marks(run, member):
            owner = next((prefix for prefix in OWNERS if mark.name.startswith(prefix)), None)
            if owner is not None:
                yield Report(
                    mark.route,
                    f"`{mark.name}` is not for jobs: {OWNERS[owner]}",
                    FIELDS.get(mark.name, "take it out, or use a prefix of your own"),
                    key=True,
                )
