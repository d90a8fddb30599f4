"""An argument's value is beyond what it may be.

## What it does
Compares numbers, lengths of texts and numbers of list items with the bounds in the image's
schema.

## Why it is bad
A dropout of 6 or a batch of 0 is refused by the program, if it looks. If it does not, the loss is
no number after the first step, or nothing is learned.

## Example
```yaml
team: nlp
image: llm-sft
args: {tuning: lora, lora_dropout: 6}
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
args: {tuning: lora, lora_dropout: 0.06}
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- togethercomputer/together-python#316
- nlpyang/hiersumm#17
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.arguments.judging import reports
from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH572",
    severity=Severity.ERROR,
    stage="run",
    sources=("togethercomputer/together-python#316", "nlpyang/hiersumm#17"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The values beyond a bound of the image's schema."""
    yield from reports("argument-out-of-range", run, site)
