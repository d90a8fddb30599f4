r"""The text holds a control character.

## What it does
Reports control characters other than tab and line ends, U+007F (DEL) among them, and the three
characters that end a line for readers of YAML 1.1 and are text for readers of YAML 1.2: U+0085,
U+2028 and U+2029. Escapes in double quotes, such as "\x1b", are not meant.

## Why it is bad
YAML forbids most of them, and parsers stop there. kustomize refuses DEL, which others accept.
A character that is a line end to some readers makes two texts out of one.

## Example
```python
example = (
    b"team: nlp\n"
    b"description: bell\x07\n"
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
    b'description: "bell\\x07"\n'
    b"image: llm-sft\n"
    b"accelerators: H100:8\n"
    b"queue: research\n"
    b"max_duration: 24h\n"
    b"checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}\n"
)
```

## References
- YAML 1.2.2, section 5.1 (character set) and section 5.4 (line break characters)
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="SRC104", severity=Severity.ERROR, stage="source", sources=("YAML 1.2.2: section 5.1",)
)
