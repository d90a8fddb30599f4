r"""The mounted files do not fit into a ConfigMap.

## What it does
Reports `files:` whose contents have more than 1,000,000 bytes together.

## Why it is bad
The files reach the pods as one ConfigMap, which holds at most 1 MiB; the API server refuses a
larger one.

## Example
```sh
head -c 1200000 /dev/zero | tr '\0' 'x' >configs/vocabulary.txt
cat >jobs/example.yaml <<'END'
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
files: {/etc/job/vocabulary.txt: configs/vocabulary.txt}
END
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
mounts: {/data: {claim: datasets, read_only: true}}
args: [--chat_template, /data/template.jinja]
```

## References
- kubernetes/kubernetes#19781
- grafana/k6-operator#61
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="STO702",
    severity=Severity.ERROR,
    stage="source",
    sources=("kubernetes/kubernetes#19781", "grafana/k6-operator#61"),
)
