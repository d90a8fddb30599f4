"""A rule is given a weight, or waived, that cannot be.

## What it does
Reports a rule in `policy/rules.yaml` that nobody can weigh, or that has two weights, and a rule in
a waiver under `policy/waivers/` that cannot be waived. Rules about the form of a job are always
errors; rules about several jobs together, or about what was published, have weights and no waivers.

## Why it is bad
Runs that break such a rule do not start, or do harm; no weight makes them work. Whoever reads the
line would believe that the rule is off, while `check` goes on to fail.

## Example
```yaml
# policy/waivers/wav2vec.yaml
rule: fractional-accelerators
jobs: [speech/wav2vec]
reason: half of one is enough for it
approver: example-org/platform
until: 2126-01-31
```
```yaml
# policy/teams/speech.yaml
namespace: p-speech
owners: [example-org/speech-leads]
clusters: [west, east]
default_cluster: east
defaults: {priority: normal, stop: {grace: 2m}}
```

## Use instead
```yaml
# policy/waivers/wav2vec.yaml
rule: duration-above-cap
jobs: [speech/wav2vec]
reason: an epoch takes a day, and it cannot go on from within one yet
approver: example-org/platform
until: 2126-01-31
```

## References
- prow: kubernetes-sigs/prow cmd/checkconfig
- conda-forge/conda-smithy: conda_smithy/linter
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Related, Severity
from compiler.rules import Rule, finding, lookup
from compiler.weights import obstacle

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.policy.rules import RulesPolicy
    from compiler.project import Project
    from compiler.repository import Document

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
    """The weights that rules cannot have, and the waivers of rules that cannot be waived."""
    policy = project.policy
    if policy.rules is not None:
        rules = policy.rules
        yield from _weights(rules, rules.value.severity or {}, ("severity",))
        for team, own in (rules.value.teams or {}).items():
            yield from _weights(rules, own.severity, ("teams", team, "severity"))
    for waiver in policy.waivers.values():
        known = lookup(waiver.value.rule)
        if known is not None and (why := obstacle(known)):
            yield finding(
                "ineffective-weight",
                waiver.place("rule"),
                f"`{waiver.value.rule}` cannot be waived: {why}",
                "take the waiver out, and mend the jobs",
            )


def _weights(
    rules: Document[RulesPolicy], severity: Mapping[str, str], at: tuple[str, ...]
) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for name, weight in severity.items():
        known = lookup(name)
        if known is None:
            continue
        if first.setdefault(known.name, name) != name:
            yield finding(
                "ineffective-weight",
                rules.place(*at, name, key=True),
                f"`{name}` is the rule that `{first[known.name]}` is",
                "keep one of the two",
                [Related(rules.place(*at, first[known.name], key=True), "the other one")],
            )
        elif known.rule.kind == "form" and weight != "error":
            yield finding(
                "ineffective-weight",
                rules.place(*at, name),
                f"`{name}` is always an error: what breaks it cannot run",
                "take the line out, and mend the jobs",
            )
