"""The run will wait for its team's budget.

## What it does
Adds up the accelerator-hours of a team in the month (UTC): those of runs that have ended, as
observed, or for as long as they were there; and the most that active runs and those that start now
may use until the month is over. A run with which the sum is above `budget` when its turn comes is
reported, with those who use the hours and the smallest edits with which it would fit. What waits
for quota is told of that alone. Runs without accelerators use none.

## Why it is bad
It need not be: publish holds the run, and starts it when runs have ended sooner than they might, or
when the month is over. But who merges a change should know that nothing will start before.

## Example
```sh
sed -i 's/^budget: .*/budget: 40/' policy/teams/nlp.yaml
rm -r jobs policy/waivers
mkdir -p jobs/nlp
cat > jobs/nlp/first.yaml <<'END'
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 4h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
END
cp jobs/nlp/first.yaml jobs/nlp/second.yaml
```

## Use instead
```sh
sed -i 's/^budget: .*/budget: 60000/' policy/teams/nlp.yaml
rm -r jobs policy/waivers
mkdir -p jobs/nlp
cat > jobs/nlp/first.yaml <<'END'
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 4h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
END
cp jobs/nlp/first.yaml jobs/nlp/second.yaml
```

## References
- skypilot-org/skypilot#7837
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="RES434",
    severity=Severity.NOTICE,
    stage="source",
    sources=("skypilot-org/skypilot#7837",),
)
