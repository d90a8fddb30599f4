"""A publish commit that is no longer in the history.

## What it does
Reports a publish commit whose trailer `Previous-Ledger:` names a ledger that no publish commit in
the history holds.

## Why it is bad
A force-push or a rewritten branch has dropped a publish commit, and with it the only record of the
runs that it started. Their numbers would be used again, and what has finished would start anew.
Publish stops until the commit is back.

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
Previous-Ledger: 0123456789abcdef0123456789abcdef01234567"
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
```

## References
- wso2/labs-agentic-engineer#554
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS853",
    severity=Severity.ERROR,
    stage="source",
    sources=("wso2/labs-agentic-engineer#554",),
)
