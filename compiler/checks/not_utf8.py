r"""The file is not written in UTF-8.

## What it does
Refuses a file whose bytes are not strict UTF-8, at the first such byte, and a file in UTF-16 or
UTF-32 as a whole. A byte order mark before UTF-8 is accepted and left out.

## Why it is bad
The letters behind other bytes can only be guessed, and each reader guesses differently, so a
name or a path would not arrive as it was meant. git shows a file in UTF-16 as binary, and then
nobody can review it.

## Example
```python
example = (
    b"team: nlp\n"
    b"description: caf\xe9\n"
    b"image: llm-sft\n"
    b"accelerators: H100:8\n"
    b"queue: research\n"
    b"max_duration: 24h\n"
    b"checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}\n"
)
```

## Use instead
```python
instead = (
    b"team: nlp\n"
    b"description: caf\xc3\xa9\n"
    b"image: llm-sft\n"
    b"accelerators: H100:8\n"
    b"queue: research\n"
    b"max_duration: 24h\n"
    b"checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}\n"
)
```

## References
- YAML 1.2.2, section 5.2 (character encodings)
- RFC 3629 (UTF-8)
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(code="SRC101", severity=Severity.ERROR, stage="source", sources=("RFC 3629",))
