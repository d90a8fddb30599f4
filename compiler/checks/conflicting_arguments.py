"""Two arguments exclude each other.

## What it does
Reports arguments that the image's schema lets stand only one at a time (`exclusive`), and what its
conditions over several arguments refuse (`oneOf`, `not`, `dependentRequired`).

## Why it is bad
One of the two is not looked at, and it is the one that somebody meant: twenty epochs were asked
for, and the training ends after ten steps.

## Example
```yaml
team: nlp
image: llm-sft
args: {max_steps: 10, epochs: 20}
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
args: {epochs: 20}
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- unslothai/unsloth#594
- huggingface/transformers#6439
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.arguments.judging import reports
from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH574",
    severity=Severity.ERROR,
    stage="run",
    sources=("unslothai/unsloth#594", "huggingface/transformers#6439"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The arguments that the image takes one at a time."""
    yield from reports("conflicting-arguments", run, site)
