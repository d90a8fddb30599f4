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
```yaml
# policy/teams/nlp.yaml
namespace: p-nlp
owners: [kim-nlp]
clusters: [west]
budget: 800
defaults: {priority: normal, stop: {grace: 5m}}
```

## Use instead
```yaml
# policy/teams/nlp.yaml
namespace: p-nlp
owners: [kim-nlp]
clusters: [west]
budget: 60000
defaults: {priority: normal, stop: {grace: 5m}}
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
