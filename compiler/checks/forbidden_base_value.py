"""A base sets what is not the base's to set.

## What it does
Reports fields of the base's object that belong to the job, to a controller or to the syncer: a time
to live, `suspend`, a deadline, `managedBy`, a restart policy other than Never and OnFailure, node
selectors and tolerations, the image and command of the training container, variables of the
operator, labels of Kueue, annotations of the syncer; and values that Kubernetes refuses, such as a
number where text is wanted.

## Why it is bad
A base is under every run. A time to live there makes every finished training run again, because the
syncer creates again what removed itself; `suspend` fights with Kueue at each sync.

## Example
```yaml
# base/job/job.yaml
apiVersion: batch/v1
kind: Job
metadata:
  name: run
spec:
  ttlSecondsAfterFinished: 3600
  template:
    spec:
      containers:
        - name: pytorch
          terminationMessagePolicy: FallbackToLogsOnError
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
```

## References
- airbytehq/airbyte#15202
- argoproj/argo-cd#21055
- kubeflow/trainer#2277
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS804",
    severity=Severity.ERROR,
    stage="source",
    sources=(
        "airbytehq/airbyte#15202",
        "argoproj/argo-cd#21055",
        "kubeflow/trainer#2277",
    ),
)
