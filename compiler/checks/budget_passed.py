"""The run may use more than its team's budget of a month.

## What it does
Reports a run that could, alone, use more accelerator-hours in one month than the `budget` of its
team: its accelerators over all nodes, of an elastic run the most, times `max_duration`, and 31 days
at the most. What others use of the month is another question, which
[waits-for-budget](waits-for-budget.md) answers.

## Why it is bad
The hours that are spent are not known before the bill comes, and then the run is over. Publish
would hold such a run until the last days of some month.

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

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.quantity import duration_text
from compiler.quota.demand import demand
from compiler.quota.limits import accelerators
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="RES433",
    severity=Severity.ERROR,
    stage="run",
    sources=("skypilot-org/skypilot#7837",),
    policy=True,
)
HOUR, MONTH = 3600, 31 * 86400


def check(run: Run, site: Site) -> Iterator[Report]:
    """What one run may use in one month against all that its team may."""
    budget = site.team.value.budget
    count = accelerators(demand(run))
    if budget is None or not count or run.stopped:
        return
    seconds = min(run.max_duration or MONTH, MONTH)
    if count * seconds <= budget * HOUR:
        return
    fit = budget * HOUR // count // HOUR
    remedy = f"write {duration_text(fit * HOUR)} or less" if fit else "ask for less"
    yield Report(
        ("max_duration",),
        f"{count} accelerators may use {-(-count * seconds // HOUR)} accelerator-hours in a month; "
        f"the budget of the team {site.team.name} is {budget}",
        f"{remedy}, or raise the budget",
        ((site.team.place("budget"), "the team's budget of a month"),),
    )
