"""An overlay that is not what publish wrote.

## What it does
Reports every file under `overlays/` (the ledger apart) whose bytes differ from those of the newest
publish commit in the history, whether a commit changed it or it is not committed yet. It names the
commit. Where no publish commit is there yet, every file is reported.

## Why it is bad
A syncer applies what stands there. An edit by hand changes a run that has started, starts one that
the ledger does not know of, or stops one that the ledger takes for active; and the next publish
writes its own bytes again. A pull request that touches `overlays/` is refused for the same reason:
`git checkout <base> -- overlays/` takes the change out of it.

## Example
```sh
git init -q
mkdir -p overlays/west/nlp
echo 'resources: []' > overlays/west/nlp/kustomization.yaml
git add -A
git -c user.name=kim -c user.email=kim@example.com commit -q -m "Edit an overlay by hand"
```

## Use instead
```sh
git init -q
echo '# The change is made here.' >> jobs/llm-sft.yaml
git add -A
git -c user.name=kim -c user.email=kim@example.com commit -q -m "Change a declaration"
```

## References
- kubestellar/kubestellar#3961
- argoproj/argo-cd#18212
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS850",
    severity=Severity.ERROR,
    stage="source",
    sources=(
        "kubestellar/kubestellar#3961",
        "argoproj/argo-cd#18212",
    ),
)
