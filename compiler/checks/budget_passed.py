"""A run with which its team may pass its budget of the month.

## What it does
Adds up the accelerator-hours of a team in the month (UTC): those of runs that have ended, as
observed, or for as long as they were there; and the most that active runs and those that start now
may use until the month is over. Reports each run that would start and with which the sum is above
`budget`. A run that waits is asked about when it starts. Runs without accelerators use none.

## Why it is bad
The hours that are spent are not known before the bill comes, and then the runs are over.

## Example
```yaml
# policy/teams/nlp.yaml
namespace: p-nlp
owners: [kim-nlp]
clusters: [west]
budget: 10
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
    code="RES433",
    severity=Severity.ERROR,
    stage="source",
    sources=("skypilot-org/skypilot#7837",),
    policy=True,
)
