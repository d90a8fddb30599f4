"""A command is one text that needs a shell.

## What it does
Reports a `command` or image `entry` written as one text that holds variables, pipes, redirections
or several commands, or an open quote. A text without these is split into words as a shell would.

## Why it is bad
Kubernetes starts programs without a shell. It looks for a program whose name is the whole text,
and does not find it; `$VAR` and `&&` reach the program as they are.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
command: torchrun train.py && echo done
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
command: [bash, -c, "torchrun train.py && echo done"]
```

## References
- kubernetes/kubernetes#128843
- Yelp/task_processing#159
- Spirals-Team/benchmark-containers#25
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="LCH501",
    severity=Severity.ERROR,
    stage="source",
    sources=(
        "kubernetes/kubernetes#128843",
        "Yelp/task_processing#159",
        "Spirals-Team/benchmark-containers#25",
    ),
)
