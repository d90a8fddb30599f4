"""A run to go on from has never started.

## What it does
Reports a number under `checkpoint.from` that no run of the job has, by the ledgers under
`overlays/ledger/`, or only one that was held and never started. Where there is no ledger at all,
nothing is known and nothing is reported.

## Why it is bad
The run would look for its checkpoints in a folder that nobody has written. Most training code then
begins from zero without a word; and the number is used later, by a run that has nothing to do with
it.

## Example
```sh
mkdir -p overlays/ledger/nlp
cat > overlays/ledger/nlp/my-train.yaml <<'END'
version: 1
team: nlp
job: my-train
runs:
  - {number: 1, cluster: west, name: my-train-r1, state: ended, listed: false, outcome: unknown,
     guarded: false, lineage: 1, training: a, operation: b, declared: "", nodes: 1}
END
sed -i 's/^checkpoint: {/checkpoint: {from: r2, /' jobs/nlp/my-train.yaml
```

## Use instead
```sh
mkdir -p overlays/ledger/nlp
cat > overlays/ledger/nlp/my-train.yaml <<'END'
version: 1
team: nlp
job: my-train
runs:
  - {number: 1, cluster: west, name: my-train-r1, state: ended, listed: false, outcome: unknown,
     guarded: false, lineage: 1, training: a, operation: b, declared: "", nodes: 1}
END
sed -i 's/^checkpoint: {/checkpoint: {from: r1, /' jobs/nlp/my-train.yaml
```

## References
- Lightning-AI/pytorch-lightning#7072
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="NAM306",
    severity=Severity.ERROR,
    stage="source",
    sources=("Lightning-AI/pytorch-lightning#7072",),
)
