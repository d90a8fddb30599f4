"""The change ends the job of a team that its author does not own.

## What it does
With `check --actor LOGIN --base REF`, reports each job that is declared at that commit and no more,
because its file was deleted, moved to another team or given another name, and whose team's `owners`
do not name the login. A new name with `was:` keeps the job. With paths, nothing is reported.

## Why it is bad
A job whose declaration is gone is stopped, with all that its runs have not saved. Its owners
should know, and have agreed.

## Example
```sh
# check --actor mallory --base HEAD
sed -i 's/^owners: .*/owners: [kim-nlp]/' policy/teams/nlp.yaml
mkdir -p jobs/nlp
cat > jobs/nlp/tune.yaml <<'END'
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
END
git init -q
git add -A
git -c user.name=kim -c user.email=kim@example.com commit -q -m "Tune"
rm jobs/nlp/tune.yaml
```

## Use instead
```sh
# check --actor kim-nlp --base HEAD
sed -i 's/^owners: .*/owners: [kim-nlp]/' policy/teams/nlp.yaml
mkdir -p jobs/nlp
cat > jobs/nlp/tune.yaml <<'END'
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
END
git init -q
git add -A
git -c user.name=kim -c user.email=kim@example.com commit -q -m "Tune"
rm jobs/nlp/tune.yaml
```

## References
- ministryofjustice/cloud-platform#2861
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS894",
    severity=Severity.WARNING,
    stage="source",
    sources=("ministryofjustice/cloud-platform#2861",),
)
