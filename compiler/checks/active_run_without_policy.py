"""A run of a team, or on a cluster, that policy no longer knows.

## What it does
Reports active runs in the ledger whose team has no file under `policy/teams/` any more, or whose
cluster has none under `policy/clusters/`: it was removed, or renamed.

## Why it is bad
The team's declarations can no longer be judged, nor can its quota be counted. A rename looks the
same as one removal and one addition, so that runs may be stopped and started again.

## Example
```sh
mkdir -p overlays/ledger/robotics
cat > overlays/ledger/robotics/arm.yaml <<'END'
version: 1
team: robotics
job: arm
runs:
  - {number: 1, cluster: west, name: arm-r1, state: active, listed: true, outcome: unknown,
     guarded: false, lineage: 1, training: a, operation: b, declared: "", nodes: 1}
END
```

## Use instead
```sh
mkdir -p overlays/ledger/robotics
cat > overlays/ledger/robotics/arm.yaml <<'END'
version: 1
team: robotics
job: arm
runs:
  - {number: 1, cluster: west, name: arm-r1, state: ended, listed: false, outcome: unknown,
     guarded: false, lineage: 1, training: a, operation: b, declared: "", nodes: 1}
END
```

## References
- kubernetes-sigs/kueue: pkg/controller/core/clusterqueue_controller.go
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS865",
    severity=Severity.ERROR,
    stage="source",
    sources=("kubernetes-sigs/kueue: pkg/controller/core/clusterqueue_controller.go",),
)
