"""More is held than policy allows.

## What it does
Reports a limit (a team's quota, the nodes of a cluster, the number of a team's runs) below what
active runs hold. They are named with their latest end.

## Why it is bad
Lowering a quota stops nothing: a run that has started is not taken back. Until enough of them have
ended, nothing more of the team starts, and others may not get what they are guaranteed.

## Example
```sh
mkdir -p overlays/ledger/nlp
{ cat <<'END'
version: 1
team: nlp
job: my-train
runs:
  - number: 1
    cluster: west
    name: my-train-r1
    state: active
    listed: true
    outcome: unknown
    guarded: false
    lineage: 1
    training: a
    operation: b
    accelerators: {H100: 160}
    nodes: 2
    declared: |
END
sed 's/^/      /' jobs/nlp/my-train.yaml
} > overlays/ledger/nlp/my-train.yaml
rm -r jobs/llm-sft.yaml jobs/nlp/dpo-elastic.yaml jobs/nlp/llm-train.yaml jobs/vision
```

## Use instead
```sh
mkdir -p overlays/ledger/nlp
{ cat <<'END'
version: 1
team: nlp
job: my-train
runs:
  - number: 1
    cluster: west
    name: my-train-r1
    state: active
    listed: true
    outcome: unknown
    guarded: false
    lineage: 1
    training: a
    operation: b
    accelerators: {H100: 16}
    nodes: 2
    declared: |
END
sed 's/^/      /' jobs/nlp/my-train.yaml
} > overlays/ledger/nlp/my-train.yaml
rm -r jobs/llm-sft.yaml jobs/nlp/dpo-elastic.yaml jobs/nlp/llm-train.yaml jobs/vision
```

## References
- kubernetes-sigs/kueue: site/content/en/docs/concepts/preemption.md
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="RES432",
    severity=Severity.WARNING,
    stage="source",
    sources=("kubernetes-sigs/kueue: site/content/en/docs/concepts/preemption.md",),
)
