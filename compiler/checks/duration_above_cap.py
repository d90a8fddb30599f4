"""The run may take longer than the team's runs may, or for ever.

## What it does
Reports a `max_duration` above `caps.duration` of the team, and a run without one where the team
has such a cap.

## Why it is bad
A run without an end that hangs holds its accelerators until somebody looks, and others plan with
the cap.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 8d
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 7d
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- kubeflow/trainer#3358
- kubernetes-sigs/kueue: pkg/controller/jobframework/validation.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.quantity import duration_text
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="OPS819",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubeflow/trainer#3358",
        "kubernetes-sigs/kueue: pkg/controller/jobframework/validation.go",
    ),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """A duration above the team's cap, or none."""
    caps = site.team.value.caps
    if caps is None or caps.duration is None:
        return
    most = duration_text(caps.duration)
    related = ((site.team.place("caps", "duration"), "the team's cap"),)
    if run.max_duration is None:
        yield Report(
            ("max_duration",),
            "nothing says how long the run may take; a run of the team"
            f" {site.team.name} may take {most}",
            f"add `max_duration:` with {most} or less",
            related,
        )
    elif run.max_duration > caps.duration:
        yield Report(
            ("max_duration",),
            f"{duration_text(run.max_duration)} is too long; a run of the team"
            f" {site.team.name} may take {most}",
            f"write {most} or less, and let a run that needs longer resume from its checkpoint",
            related,
        )
