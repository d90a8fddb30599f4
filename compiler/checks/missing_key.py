"""A key that is needed is not there.

## What it does
Reports a mapping without a key that it needs, and a job that lacks one after the defaults of its
team, image, accelerators and base have been put under it.

## Why it is bad
A run without an image is refused by the API server, or by the operator's webhook, and a syncer that
cannot apply one object applies none of its folder. What a policy file leaves out would be a guess
for all jobs that read it.

## Example
```yaml
team: nlp
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
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
- k8s.io/kubernetes: pkg/apis/core/validation/validation.go (ValidatePodSpec)
- kubeflow/training-operator: pkg/webhooks/pytorch/pytorchjob_webhook.go
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="DEC202",
    severity=Severity.ERROR,
    stage="source",
    sources=(
        "k8s.io/kubernetes: pkg/apis/core/validation/validation.go",
        "kubeflow/training-operator: pkg/webhooks/pytorch/pytorchjob_webhook.go",
    ),
)
