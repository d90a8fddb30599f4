"""A container of a base has no image.

## What it does
Reports containers of a base, other than the training container `pytorch`, without an image.

## Why it is bad
The training container gets its image from the job. Nothing gives one to any other container, and
the operator refuses a run with a container that has none. Often it is the training container under
another name: then no job's command, image or resources reach it.

## Example
```yaml
# base/job/job.yaml
apiVersion: batch/v1
kind: Job
metadata:
  name: run
spec:
  template:
    spec:
      containers:
        - name: pytorch
          terminationMessagePolicy: FallbackToLogsOnError
        - name: exporter
          terminationMessagePolicy: File
```

## Use instead
```yaml
# base/job/job.yaml
apiVersion: batch/v1
kind: Job
metadata:
  name: run
spec:
  template:
    spec:
      containers:
        - name: pytorch
          terminationMessagePolicy: FallbackToLogsOnError
        - name: exporter
          image: registry.example.com/mirror/exporter@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
```

## References
- NascentCore/3k#401
- kubeflow/trainer#1563
"""  # noqa: E501

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS809",
    severity=Severity.ERROR,
    stage="source",
    sources=(
        "NascentCore/3k#401",
        "kubeflow/trainer#1563",
    ),
)
