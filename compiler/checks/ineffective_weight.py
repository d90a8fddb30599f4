"""A rule is given a weight, or waived, that cannot be.

## What it does
Reports a rule in `policy/rules.yaml` or in a waiver under `policy/waivers/` that is always an
error.

## Why it is bad
Runs that break such a rule do not start, or do harm; no weight makes them work. Whoever reads the
line would believe that the rule is off, while `check` goes on to fail.

## Example
```yaml
# policy/waivers/fabric-tests.yaml
rule: unknown-queue
jobs: [vision/nccl-check]
reason: it measures the network between parts of nodes
approver: kim-nlp
until: 2126-01-31
```

## Use instead
```yaml
# policy/waivers/fabric-tests.yaml
rule: part-of-a-node
jobs: [vision/nccl-check]
reason: it measures the network between parts of nodes
approver: kim-nlp
until: 2126-01-31
```

## References
- prow: kubernetes-sigs/prow cmd/checkconfig
- conda-forge/conda-smithy: conda_smithy/linter
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Severity
from compiler.rules import Rule, finding, lookup

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.project import Project

RULE = Rule(
    code="DEC231",
    severity=Severity.ERROR,
    stage="repository",
    sources=(
        "prow: kubernetes-sigs/prow cmd/checkconfig",
        "conda-forge/conda-smithy: conda_smithy/linter",
    ),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The weights of rules that cannot have them."""
    policy = project.policy
    named = [(waiver.value.rule, waiver.place("rule")) for waiver in policy.waivers.values()]
    if policy.rules is not None:
        for name, weight in (policy.rules.value.severity or {}).items():
            if weight != "error":
                named.append((name, policy.rules.place("severity", name)))
    for name, place in named:
        registered = lookup(name)
        if registered is not None and registered.rule.severity is Severity.ERROR:
            yield finding(
                "ineffective-weight",
                place,
                f"`{name}` is always an error: what breaks it cannot run",
                "take the line out, and mend the jobs",
            )
