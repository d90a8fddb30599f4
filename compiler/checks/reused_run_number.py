"""A run number that was used twice.

## What it does
Reports a ledger in which two publish commits give one run number different trainings, operations,
clusters or names.

## Why it is bad
The number is the name of the object, of its tombstone and of its checkpoint folder. Used twice, two
trainings share them, and one can take the other for finished. Publish stops, for no ledger holds
both.

## Example
```sh
git init -q
mkdir -p overlays/ledger/nlp
cat > overlays/ledger/nlp/probe.yaml <<'END'
version: 1
team: nlp
job: probe
runs:
  - {number: 1, cluster: west, name: probe-r1, state: ended, listed: false, outcome: unknown,
     guarded: false, lineage: 1, training: A, operation: x, declared: "", nodes: 1}
END
git add -A
ledger=$(git write-tree --prefix=overlays/ledger/)
git -c user.name=kim -c user.email=kim@example.com commit -q -m "publish: 1 start" \\
  -m "Source: 1a2b3c
Ledger: $ledger
Previous-Ledger: none"
first=$ledger
cat > overlays/ledger/nlp/probe.yaml <<'END'
version: 1
team: nlp
job: probe
runs:
  - {number: 1, cluster: west, name: probe-r1, state: ended, listed: false, outcome: unknown,
     guarded: false, lineage: 1, training: B, operation: x, declared: "", nodes: 1}
END
git add -A
ledger=$(git write-tree --prefix=overlays/ledger/)
git -c user.name=kim -c user.email=kim@example.com commit -q -m "publish: 1 start" \\
  -m "Source: 1a2b3c
Ledger: $ledger
Previous-Ledger: $first"
```

## Use instead
```sh
git init -q
mkdir -p overlays/ledger/nlp
cat > overlays/ledger/nlp/probe.yaml <<'END'
version: 1
team: nlp
job: probe
runs:
  - {number: 1, cluster: west, name: probe-r1, state: ended, listed: false, outcome: unknown,
     guarded: false, lineage: 1, training: A, operation: x, declared: "", nodes: 1}
END
git add -A
ledger=$(git write-tree --prefix=overlays/ledger/)
git -c user.name=kim -c user.email=kim@example.com commit -q -m "publish: 1 start" \\
  -m "Source: 1a2b3c
Ledger: $ledger
Previous-Ledger: none"
first=$ledger
cat > overlays/ledger/nlp/probe.yaml <<'END'
version: 1
team: nlp
job: probe
runs:
  - {number: 1, cluster: west, name: probe-r1, state: ended, listed: false, outcome: unknown,
     guarded: false, lineage: 1, training: A, operation: x, declared: "", nodes: 1}
  - {number: 2, cluster: west, name: probe-r2, state: ended, listed: false, outcome: unknown,
     guarded: false, lineage: 2, training: B, operation: x, declared: "", nodes: 1}
END
git add -A
ledger=$(git write-tree --prefix=overlays/ledger/)
git -c user.name=kim -c user.email=kim@example.com commit -q -m "publish: 1 start" \\
  -m "Source: 1a2b3c
Ledger: $ledger
Previous-Ledger: $first"
```

## References
- wso2/labs-agentic-engineer#554
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS854",
    severity=Severity.ERROR,
    stage="source",
    sources=("wso2/labs-agentic-engineer#554",),
)
