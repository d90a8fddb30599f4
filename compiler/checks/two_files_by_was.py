"""Two names that `was` makes one job have a file each.

## What it does
Reports a job whose former name, by `was:` or by what the ledger remembers of an earlier one, has a
file of its own, and two jobs with the same former name. It also reports a `was:` that comes after
both names have runs.

## Why it is bad
`was` joins two names for ever: one ledger and one sequence of numbers. With two files nobody knows
which of them says what is to run, so that publish leaves the runs of both as they are, and starts
none. The commonest reason is a file that was copied where it was to be moved.

## Example
```sh
cp jobs/nlp/my-train.yaml jobs/nlp/my-train-long.yaml
echo 'was: my-train' >> jobs/nlp/my-train-long.yaml
```

## Use instead
```sh
mv jobs/nlp/my-train.yaml jobs/nlp/my-train-long.yaml
echo 'was: my-train' >> jobs/nlp/my-train-long.yaml
```

## References
- hashicorp/terraform#32595
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="NAM305",
    severity=Severity.ERROR,
    stage="source",
    sources=("hashicorp/terraform#32595",),
)
