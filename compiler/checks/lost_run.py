"""A run that the newest ledger has lost.

## What it does
Reports a ledger whose newest published form lacks a run that an earlier publish commit wrote.

## Why it is bad
Numbers are used once, ever. A ledger without one of them reads as if that run had never been; its
training could be taken for one that never ran. Publish itself is not misled, for it takes every run
from all publish commits together, and the next one writes it back.

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
  - {number: 2, cluster: west, name: probe-r2, state: ended, listed: false, outcome: unknown,
     guarded: false, lineage: 2, training: B, operation: x, declared: "", nodes: 1}
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
    code="OPS852",
    severity=Severity.WARNING,
    stage="source",
    sources=("wso2/labs-agentic-engineer#554",),
)
