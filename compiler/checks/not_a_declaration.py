"""A file under jobs/ is not read.

## What it does
Reports files in `jobs/` and `jobs/<team>/` that look like declarations but end in something else
than `.yaml` or `.yml`. Folders below a team's folder hold files of their own and are not looked
at.

## Why it is bad
A file that nobody reads is a job that never starts, and no error says so.

## Example
```yaml
# jobs/example.YAML
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
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
- kimai/kimai#4105
- csirtgadgets/csirtg-smrt-v1#68
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="DEC212",
    severity=Severity.ERROR,
    stage="source",
    sources=("kimai/kimai#4105", "csirtgadgets/csirtg-smrt-v1#68"),
)
