"""A stop of a run or an image that nobody knows.

## What it does
Looks up the run of a file under `policy/stops/` in the ledger, and its image in `images/`, in the
ledger and in the declarations. (`unknown-name-in-policy` looks up its team.)

## Why it is bad
It stops nothing, and the run that was meant goes on: a letter of its name is wrong, or the number
is not that of the run. A run is named as its object is, which after a rename is the name that it
began with.

## Example
```yaml
# policy/stops/storage.yaml
image: llm-stf
reason: it fills the checkpoint volume
until: 2126-01-31
```

## Use instead
```yaml
# policy/stops/storage.yaml
image: llm-sft
reason: it fills the checkpoint volume
until: 2126-01-31
```

## References
- kubernetes-sigs/kueue#7929
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="OPS857",
    severity=Severity.ERROR,
    stage="source",
    sources=("kubernetes-sigs/kueue#7929",),
)
