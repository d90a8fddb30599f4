"""Arguments do not fit each other or the size of the run.

## What it does
Works out the rules that the image's schema gives between its arguments and the run, such as
`global_batch == micro_batch * accumulation * world_size`. `world_size` is the number of training
processes, as many as accelerators; for an elastic run the rule must hold at each number of nodes
that it may have. The message shows the sum. A rule is left alone where it needs a value that
nobody gives.

## Why it is bad
The program refuses it once all nodes have met, or trains with another batch than the learning
rate was chosen for.

## Example
```yaml
team: nlp
image: llm-sft
args: {global_batch: 250, micro_batch: 4, accumulation: 2}
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
args: {global_batch: 256, micro_batch: 4, accumulation: 2}
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- deepspeedai/DeepSpeed#6914
- bigcode-project/starcoder#77
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.arguments.judging import reports
from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH575",
    severity=Severity.ERROR,
    stage="run",
    sources=("deepspeedai/DeepSpeed#6914", "bigcode-project/starcoder#77"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The arguments that do not fit each other, or the run."""
    yield from reports("mismatched-arguments", run, site)
