"""How much findings weigh: severities of policy, and waivers."""

from __future__ import annotations

from datetime import date
from fnmatch import fnmatchcase

from compiler.diagnostics import Finding, Severity
from compiler.effective import Effective
from compiler.policy.rules import RulesPolicy
from compiler.repository import Policy
from compiler.rules import lookup


def weighed(
    findings: list[Finding], whole: Effective, job: str, policy: Policy, today: date
) -> list[Finding]:
    """The findings with the weights of policy, without those that are waived for the job.

    Errors are neither lowered nor waived here.
    """
    if not findings:
        return []
    rules: RulesPolicy | None = policy.rules.value if policy.rules else None
    weights: dict[str, str] = {}
    for name, weight in ((rules.severity if rules else None) or {}).items():
        registered = lookup(name)
        if registered is not None and registered.rule.severity is not Severity.ERROR:
            weights[registered.name] = weight
    waivers = [
        (waiver.value.rule, waiver.value.until)
        for waiver in policy.waivers.values()
        if any(fnmatchcase(job, pattern) for pattern in waiver.value.jobs)
    ]
    waivers += [(waiver.rule, waiver.until) for waiver in whole.declaration.waive or ()]
    waived: set[str] = set()
    for name, until in waivers:
        registered = lookup(name)
        if registered is None or registered.rule.severity is Severity.ERROR:
            continue
        if until >= today:
            waived.add(registered.name)
    kept: list[Finding] = []
    for item in findings:
        weight = weights.get(item.rule)
        if weight == "off" or item.rule in waived:
            continue
        kept.append(item if weight is None else item.with_severity(Severity(weight)))
    return kept
