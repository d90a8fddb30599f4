"""The team may not use this priority.

## What it does
Reports a priority class of the cluster that is missing from `caps.priorities` of the team, where
the team has such a list.

## Why it is bad
A run of high priority pushes the runs of others out; who may do that is agreed beforehand.

## Example
```yaml
# jobs/vision/example.yaml
image: vit
command: [torchrun, -m, vit.pretrain]
accelerators: H100:8
queue: research
priority: high
max_duration: 24h
```

## Use instead
```yaml
# jobs/vision/example.yaml
image: vit
command: [torchrun, -m, vit.pretrain]
accelerators: H100:8
queue: research
priority: normal
max_duration: 24h
```

## References
- kubernetes/kubernetes#78383
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.suggestions import choose

RULE = Rule(
    code="OPS825",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubernetes/kubernetes#78383",),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """A priority that the team's list lacks."""
    caps, known = site.team.value.caps, site.cluster.value.priorities
    allowed = caps.priorities if caps is not None else None
    if run.priority is None or allowed is None or run.priority in allowed:
        return
    if known is not None and run.priority not in known:
        return
    yield Report(
        ("priority",),
        f"the team {site.team.name} may not use the priority `{run.priority}`",
        choose(run.priority, [name for name in allowed if known is None or name in known]),
        ((site.team.place("caps", "priorities"), "the team's priorities"),),
    )
