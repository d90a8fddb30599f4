"""Whether the author owns the team cannot be told without asking the host.

## What it does
With `check --actor LOGIN`, reports declarations of teams whose `owners` do not name the login, and
do name a team of the host (`org/team`): its members are known there alone.

## Why it is bad
It is not, by itself. `check` uses no network, so it says what it does not know instead of warning
of what may be right. The host asks the team as CODEOWNERS says.

## Example
```sh
# check --actor mallory jobs/example.yaml
sed -i 's/^owners: .*/owners: [kim-nlp, example-org\\/nlp]/' policy/teams/nlp.yaml
cat > jobs/example.yaml <<'END'
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
END
```

## Use instead
```sh
# check --actor kim-nlp jobs/example.yaml
sed -i 's/^owners: .*/owners: [kim-nlp, example-org\\/nlp]/' policy/teams/nlp.yaml
cat > jobs/example.yaml <<'END'
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
END
```

## References
- ministryofjustice/cloud-platform#2861
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS893",
    severity=Severity.NOTICE,
    stage="source",
    sources=("ministryofjustice/cloud-platform#2861",),
)
