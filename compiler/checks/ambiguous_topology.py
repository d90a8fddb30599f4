"""A topology is both required and preferred.

## What it does
Reports `topology` with `required` and `preferred` in one place. Where a layer above the other sets
one of them, that one holds.

## Why it is bad
Kueue takes one level, and the other is dropped: `required` already keeps all nodes together.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 2
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
topology: {required: rack, preferred: block}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 2
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
topology: {required: rack}
```

## References
- kubernetes-sigs/kueue: pkg/controller/jobframework/tas_validation.go
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Route, Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="OPS830",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubernetes-sigs/kueue: pkg/controller/jobframework/tas_validation.go",),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The level that would be dropped."""
    required: Route = ("topology", "required")
    preferred: Route = ("topology", "preferred")
    if not (run.origins.set(required) and run.origins.set(preferred)):
        return
    if run.origins.place(required).path == run.origins.place(preferred).path:
        yield Report(
            preferred,
            "a topology is required or preferred; beside `required` this would be dropped",
            "keep one of the two",
            ((required, "the other one"),),
            key=True,
        )
