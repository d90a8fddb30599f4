"""The training needs more memory than an accelerator has.

## What it does
Adds up what one accelerator must hold, and compares it with `memory` of the accelerator in the
cluster's catalogue, for an image whose schema says which arguments tell the sizes (`x-runwright:
{memory: ...}`). With N parameters, of which T are trained, over n processes; L blocks of width h;
B sequences of S tokens at once; p bytes for a number of the arithmetic (2 or 4); and V words:

| | bytes |
|---|---|
| weights | (4 T + p × frozen) / n |
| gradients | 4 T / n |
| AdamW | 8 T / n |
| gathered | sharded: p × the largest of a block (12 h²) and the embedding (V h); else p N |
| activations | 18 p L S B h; with checkpointing p S B h (L + 18) |
| logits | 4 V S B |

`sharding` full is over all processes, hybrid over those of a node, none over one. With LoRA of
rank r, T is 18 L h r. A model's name tells N (`base-8b`); L and h are then those of the usual model
of that size. An elastic run is taken at its fewest nodes.

The 18 numbers that a block keeps for each token and for each of its width are the inputs of its
norms (2) and of the matrices behind them (2), queries, keys and values (3), queries and keys turned
by their positions (2), what attention gives (1), and the MLP's (8). torch 2.15 really keeps 19 to
25: norms that are no one kernel keep 2 more, in 4 bytes where they compute in them, as those of
transformers do, and attention may copy what it gives. So the sum is a lower bound; the driver,
communication, what the allocator loses and the gradient of the logits come on top.

## Why it is bad
The first step ends with `CUDA out of memory`, after the queue, the pull and the loading of the
model; or the first long sequence does, after an hour.

## Example
```yaml
team: nlp
image: llm-sft
args: {model: /models/base-70b}
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
args: {model: /models/base-70b, tuning: lora}
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- meta-llama/llama-cookbook#100
- meta-llama/llama-cookbook#37
- Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.arguments.estimate import estimated
from compiler.arguments.footprint import Footprint
from compiler.arguments.judging import judged
from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="RES460",
    severity=Severity.WARNING,
    stage="run",
    sources=("meta-llama/llama-cookbook#100", "meta-llama/llama-cookbook#37"),
)
GIB = 2**30


def check(run: Run, site: Site) -> Iterator[Report]:
    """The kinds of node whose accelerators are too small for what is trained on them."""
    for one in judged(run, site).known:
        devices = one.member.devices
        entry = site.accelerator(devices.name) if devices is not None else None
        if devices is None or entry is None or entry.memory is None:
            continue
        found = estimated(run, one)
        if found is None or found[0].total <= entry.memory.value:
            continue
        needed, shape, shards = found
        parts = " + ".join(
            f"{name} {size / GIB:.1f}" for name, size in zip(needed._fields, needed, strict=True)
        )
        over = f"over {shards} processes" if shards > 1 else "whole on each"
        yield Report(
            run.routes(one.member, "accelerators"),
            f"the training needs at least {needed.total / GIB:.0f} GiB on each {devices.name}, "
            f"which has {float(entry.memory.value) / GIB:.0f}: {parts} GiB "
            f"({shape.parameters / 1e9:.2g} billion parameters, {over})",
            _advice(needed, shards),
            ((site.cluster.place("accelerators", devices.name, "memory"), "its memory"),),
        )


def _advice(needed: Footprint, shards: int) -> str:
    """What makes the largest part smaller."""
    batch = needed.activations + needed.logits
    if batch > needed.weights + needed.gradients + needed.optimizer:
        return "take smaller micro batches or shorter sequences, or checkpoint activations"
    if shards == 1:
        return "share the weights out over all processes, or train adapters"
    return "take more nodes, or train adapters"
