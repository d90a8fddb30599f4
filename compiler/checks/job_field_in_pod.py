"""A field of the job stands under `pod:`.

## What it does
Reports fields of a PyTorchJob or a Job, such as `backoffLimit`, `replicas` or
`ttlSecondsAfterFinished`, in the place of pod fields, and says which key of the declaration means
the same; also `hostNetwork`, which brings more with it where the job itself says it.

## Why it is bad
`pod:` is merged into the template of the pods, which has no such field. The API server refuses it
under server-side apply, and with it a syncer applies nothing of the folder; by any other way it is
dropped, and the limit that a reviewer sees is not there.

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
    backoffLimit: 3
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
- kubeflow/trainer#2342
- training-operator 1.9, pkg/apis/kubeflow.org/v1/common_types.go
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.nodes import Mapping
from compiler.passthrough import fragments, typed, violations
from compiler.podproblems import JOB_FIELDS, job_field
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(code="DEC221", severity=Severity.ERROR, stage="run", sources=("kubeflow/trainer#2342",))


def check(run: Run, site: Site) -> Iterator[Report]:
    """Fields of the job around the template, wherever a fragment has them."""
    for _, at, pod in fragments(run):
        spec = pod.get("spec")
        if (
            isinstance(spec, Mapping)
            and spec.get("hostNetwork") == "true"
            # Beside it the API server refuses the pod, which has a rule of its own.
            and "hostUsers" not in spec
            and not run.host_network
        ):
            yield Report(
                (*at, "spec", "hostNetwork"),
                "`hostNetwork` alone leaves the pods without the cluster's DNS, and gives two runs"
                " on a node one port",
                "take it out, and write host_network: true at the top of the job",
                key=True,
            )
        for violation in violations(typed(pod)):
            field = job_field(violation)
            if field is not None:
                yield Report(
                    (*at, *violation.route),
                    f"`{violation.name}` is a field of the job; `pod:` is only its pods' template",
                    JOB_FIELDS[field],
                    key=True,
                )
