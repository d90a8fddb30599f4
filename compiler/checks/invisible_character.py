r"""The text holds a character that a reader cannot see.

## What it does
Reports controls of text direction (such as U+202E), zero-width characters (such as U+200B, or a
byte order mark inside the file), invisible fillers and tags, and, outside quotes, spaces that
only look like a plain one (such as U+00A0). Joiners between letters that are not ASCII, as in
emoji and in Persian, are left alone, and so is a no-break space inside quotes or a comment.

## Why it is bad
A reviewer approves other text than the cluster gets: direction controls can make a line read
as its opposite, and two names that look the same can be two names. A no-break space is no
indentation to YAML but a letter, so that a key becomes another key.

## Example
```python
example = (
    b"team: nlp\n"
    b"image: llm-sft\xe2\x80\x8b\n"
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
    b"image: llm-sft\n"
    b"accelerators: H100:8\n"
    b"queue: research\n"
    b"max_duration: 24h\n"
    b"checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}\n"
)
```

## References
- CVE-2021-42574 (text that reads in another order than it runs)
- Unicode Technical Standard 39, Unicode security mechanisms
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(code="SRC103", severity=Severity.ERROR, stage="source", sources=("CVE-2021-42574",))
