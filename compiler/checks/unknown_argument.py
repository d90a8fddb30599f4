"""An argument that the image does not have.

## What it does
Compares the names in `args:`, and behind the script in `command:`, with the arguments that the
image declares in its schema: `args_schema` in its image.yaml, or in the lock for an image from
elsewhere. `-` and `_` are the same. A script that is not the one of the image's entry is left
alone, and so is an image without a schema, or whose schema allows other names.

## Why it is bad
The program ends at its command line: on every node, once the queue has been waited for and the
image pulled. Or it takes no notice, and trains with a default for days.

## Example
```yaml
team: nlp
image: llm-sft
args: {model: /models/base-8b, learning_rat: 2e-5}
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
args: {model: /models/base-8b, learning_rate: 2e-5}
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- huggingface/pytorch-image-models#1728
- sail-sg/metaformer#12
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.arguments.judging import reports
from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH570",
    severity=Severity.ERROR,
    stage="run",
    sources=("huggingface/pytorch-image-models#1728", "sail-sg/metaformer#12"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The names that the image's schema has not."""
    yield from reports("unknown-argument", run, site)
