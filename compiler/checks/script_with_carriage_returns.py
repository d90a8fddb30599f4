r"""A script has the line ends of Windows.

## What it does
Reports a file under `files:` that begins with `#!` and has lines that end in carriage return and
line feed. In declarations such line ends mean the same as others.

## Why it is bad
The kernel and the shell take the carriage return as part of the line: the program `bash\r` is not
found, or `$'\r': command not found`.

## Example
```sh
printf '#!/bin/sh\r\nexec torchrun train.py\r\n' >configs/start.sh
cat >jobs/example.yaml <<'END'
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
command: [sh, /etc/job/start.sh]
files: {/etc/job/start.sh: configs/start.sh}
END
```

## Use instead
```sh
printf '#!/bin/sh\nexec torchrun train.py\n' >configs/start.sh
cat >jobs/example.yaml <<'END'
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
command: [sh, /etc/job/start.sh]
files: {/etc/job/start.sh: configs/start.sh}
END
```

## References
- apache/openwhisk-deploy-kube#432
- mem0ai/mem0#7038
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="STO703",
    severity=Severity.ERROR,
    stage="source",
    sources=("apache/openwhisk-deploy-kube#432", "mem0ai/mem0#7038"),
)
