"""An argument's value is not of its type.

## What it does
Reads the value of each argument as the image's parser does: numbers, truth values, words out of a
list. Text keeps its letters, so `2e-5` is a number where one is wanted, and `on` is no truth
value. A value with a variable in it that only the running pod knows is left alone.

## Why it is bad
The program ends at its command line, or much later: a learning rate that stayed a text fails in
the optimizer, after the model has been loaded.

## Example
```yaml
team: nlp
image: llm-sft
args: {learning_rate: fast, schedule: cosinus}
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
args: {learning_rate: 2e-5, schedule: cosine}
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- hiyouga/LlamaFactory#4014
- huggingface/trl#1450
- Noble-Lab/casanovo#64
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.arguments.judging import reports
from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH571",
    severity=Severity.ERROR,
    stage="run",
    sources=("hiyouga/LlamaFactory#4014", "huggingface/trl#1450", "Noble-Lab/casanovo#64"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The values that are of another type, or none of those that there are."""
    yield from reports("wrong-argument", run, site)
