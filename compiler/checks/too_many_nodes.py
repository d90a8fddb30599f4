r"""The file holds too many values.

## What it does
Reports the place where a file passes 20,000 values (keys, texts, lists and mappings), each alias
counted as all the values that it stands for.

## Why it is bad
A few lines of aliases of aliases stand for more values than fit into memory. A declaration has
some dozens.

## Example
```python
example = (
    b"team: nlp\nimage: llm-sft\nargs:\n"
    b"  a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n"
    b"  b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
    b"  c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n"
    b"  d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
    b"  e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n"
)
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
    b"args: {seed: 1}\n"
)
```

## References
- CVE-2019-11253 (aliases of aliases against the Kubernetes API server)
- CWE-776 (recursive entity references)
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(code="SRC116", severity=Severity.ERROR, stage="source", sources=("CVE-2019-11253",))
