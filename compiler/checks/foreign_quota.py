"""The change spends the quota of a team that its author does not own.

## What it does
With `check --actor LOGIN` it looks at each declaration (with `--base REF` at each that the change
touches), and reports those of teams whose `owners` do not name the login.

## Why it is bad
Nothing is wrong with the run, and it will hold accelerators that somebody else was given. Whoever
reviews the change should know that, and one of the team's owners should have agreed.

## Example
```sh
# check --actor mallory jobs/example.yaml
sed -i 's/^owners: .*/owners: [kim-nlp]/' policy/teams/nlp.yaml
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
sed -i 's/^owners: .*/owners: [kim-nlp]/' policy/teams/nlp.yaml
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
    code="OPS892",
    severity=Severity.WARNING,
    stage="source",
    sources=("ministryofjustice/cloud-platform#2861",),
)
