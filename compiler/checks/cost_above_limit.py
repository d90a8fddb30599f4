"""A run that may cost more than it says.

## What it does
Reports a run whose whole cost can exceed its `max_cost`: the catalogue's price, times accelerators
(cores without any), times `max_duration`. Retries cost nothing on top, since the time runs over
all tries together.

## Why it is bad
`max_cost` is the author's own promise to the reviewer. A run that could break it says something
that is not so.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
max_cost: 100
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
max_cost: 1000
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- skypilot-org/skypilot#7837
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.cost import cost, rounded
from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.quantity import duration_text
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="RES420",
    severity=Severity.ERROR,
    stage="run",
    sources=("skypilot-org/skypilot#7837",),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The cost of a run against its own limit."""
    limit = run.max_cost
    if limit is None:
        return
    most = cost(run, site)
    if most is None:
        yield Report(
            ("max_cost",),
            "the cost cannot be told: there is no price, or no `max_duration`",
            "add `max_duration:`, or take `max_cost` out",
        )
    elif most > limit:
        currency = site.cluster.value.currency or ""
        yield Report(
            ("max_cost",),
            f"the run may cost {rounded(most)} {currency}".rstrip()
            + f" ({duration_text(run.max_duration or 0)})",
            f"write {rounded(most)} or more, or ask for less",
        )
