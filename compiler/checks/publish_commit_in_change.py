"""A publish commit that a change brings along.

## What it does
Reports publish commits in the history of the commit at hand that the remote's branch does not have:
the default branch, or `publish.branch`, as this clone last saw it.

## Why it is bad
Only publish makes such commits, on top of the branch and after the merge. One that comes with a
pull request (made by hand, or picked from another branch) would be believed by every later publish:
it can invent runs, or call one finished that is not.

## Example
```sh
git init -q
mkdir -p overlays/ledger/nlp
git add -A
git -c user.name=kim -c user.email=kim@example.com commit -q -m "Begin"
git update-ref refs/remotes/origin/main HEAD
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

## Use instead
```sh
git init -q
mkdir -p overlays/ledger/nlp
git add -A
git -c user.name=kim -c user.email=kim@example.com commit -q -m "Begin"
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
git update-ref refs/remotes/origin/main HEAD
```

## References
- wso2/labs-agentic-engineer#554
- git: git-interpret-trailers(1)
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS855",
    severity=Severity.ERROR,
    stage="source",
    sources=(
        "wso2/labs-agentic-engineer#554",
        "git: git-interpret-trailers(1)",
    ),
)
