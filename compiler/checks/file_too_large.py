r"""The file is too large to be a declaration.

## What it does
Refuses a file of more than 256 KiB before anything else is done with it.

## Why it is bad
A declaration has a few hundred bytes, and a large one a few thousand. A much larger file is
another file in the wrong folder, or a script or a data set pasted into one. Objects of a cluster
are bounded too: etcd takes no request above 1.5 MiB.

## Example
```python
example = b"team: nlp\nimage: llm-sft\n" + b"# padding\n" * 30_000
```

## Use instead
```python
instead = (
    b"team: nlp\n"
    b"image: llm-sft\n"
    b"accelerators: H100:8\n"
    b"queue: research\n"
    b"max_duration: 24h\n"
    b"checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}\n"
)
```

## References
- etcd, system limits (request size)
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="SRC102", severity=Severity.ERROR, stage="source", sources=("etcd: --max-request-bytes",)
)
