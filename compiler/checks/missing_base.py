"""A back end has no base.

## What it does
Reports a cluster whose `backend` names a kind of object for which there is no folder under
`base/`.

## Why it is bad
Runs are overlays over a base; without one there is nothing to build.

## Example
```sh
rm -r base/job
cat >jobs/example.yaml <<'END'
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
END
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
- kubernetes-sigs/kustomize: api/internal/target/errmissingkustomization.go
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS822",
    severity=Severity.ERROR,
    stage="source",
    sources=("kubernetes-sigs/kustomize: api/internal/target/errmissingkustomization.go",),
)
