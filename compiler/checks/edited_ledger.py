"""A ledger that is not what publish wrote.

## What it does
Reports every file under `overlays/ledger/` whose bytes differ from those of the newest publish
commit in the history, whether a commit changed it or it is not committed yet.

## Why it is bad
The ledger is why a finished training does not run again. Publish takes what every publish commit
wrote together, so an entry that is changed or taken out by hand misleads whoever reads it, and
nobody else.

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
git -c user.name=kim -c user.email=kim@example.com commit -q -m "Write a ledger by hand"
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
- kubestellar/kubestellar#3961
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS851",
    severity=Severity.ERROR,
    stage="source",
    sources=(
        "wso2/labs-agentic-engineer#554",
        "kubestellar/kubestellar#3961",
    ),
)
