"""A file that is to be mounted is not in git.

## What it does
Reports a path under `files:` within `.git`; and, in a git repository, one that git does not track:
it is ignored, or was not added yet.

## Why it is bad
Publish reads a commit, where such a file is not, and would leave the job blocked. What git ignores
is often ignored for a reason: tokens stand there, and in `.git/config` on many build machines. In a
ConfigMap, everybody in the namespace could read them.

## Example
```sh
git init -q
sed -i 's,configs/nlp/llm-train.yaml,.git/config,' jobs/nlp/llm-train.yaml
```

## Use instead
```yaml
# jobs/nlp/probe.yaml
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 12h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
files: {/etc/job/train.yaml: configs/nlp/llm-train.yaml}
```

## References
- PHPMailer/PHPMailer#3231
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="STO704",
    severity=Severity.ERROR,
    stage="source",
    sources=("PHPMailer/PHPMailer#3231",),
)
