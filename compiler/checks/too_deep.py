r"""A value stands inside too many others.

## What it does
Reports the first value inside more than 64 mappings and lists, aliases counted as what they
stand for.

## Why it is bad
No field of a job is that deep. Readers that go down one call a level fail on such a file with a
stack that is used up.

## Example
```python
example = b"team: nlp\nimage: llm-sft\nargs: " + b"[" * 100 + b"]" * 100 + b"\n"
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
    b"args: [--packing]\n"
)
```

## References
- CWE-674 (uncontrolled recursion)
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(code="SRC115", severity=Severity.ERROR, stage="source", sources=("CWE-674",))
