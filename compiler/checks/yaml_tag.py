"""A value carries a YAML tag.

## What it does
Reports tags, `!name` and `!!type`, before a value. The value is then read as if the tag were not
there.

## Why it is bad
What a value means depends on its key, so a tag can only agree or contradict. Tags that make
objects out of text are how YAML files run code in careless readers. Text that starts with `!`
loses its first word to the tag.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: !!str 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- CVE-2017-18342 (code run by a tag)
- YAML 1.2.2, section 6.9.1 (node tags)
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(code="SRC111", severity=Severity.ERROR, stage="source", sources=("CVE-2017-18342",))
