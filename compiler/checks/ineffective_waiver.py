"""A waiver of a job waives nothing.

## What it does
Reports entries of `waive` whose rule does not exist, is an error here, or is not about one job. A
job may waive warnings and notices by itself. An error that policy alone makes one takes a file
under `policy/waivers/`, which names who approved; other errors cannot be waived at all.

## Why it is bad
The author believes that the rule is off. It is not, and the next run fails the check on the day
when it is needed.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
waive: [{rule: part-of-node, reason: a test of the fabric, until: 2126-01-31}]
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:4
num_nodes: 2
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
waive: [{rule: part-of-a-node, reason: a test of the fabric, until: 2126-01-31}]
```

## References
- conda-forge/conda-smithy: conda_smithy/linter
- zizmorcore/zizmor: docs/usage.md
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.nodes import Mapping, Scalar, Sequence
from compiler.rules import Report, Rule, lookup, registered
from compiler.site import Site
from compiler.suggestions import choose
from compiler.weights import obstacle, weights

RULE = Rule(
    code="DEC234",
    severity=Severity.WARNING,
    stage="run",
    sources=("conda-forge/conda-smithy: conda_smithy/linter", "zizmorcore/zizmor: docs/usage.md"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The waivers that waive nothing."""
    waivers = run.origins.node(("waive",))
    for index, waiver in enumerate(waivers) if isinstance(waivers, Sequence) else ():
        name = waiver.get("rule") if isinstance(waiver, Mapping) else None
        if not isinstance(name, Scalar):
            continue
        at = ("waive", index, "rule")
        known = lookup(str(name))
        if known is None:
            possible = [n for n, r in registered().items() if r.rule.kind == "advice"]
            yield Report(at, f"there is no rule `{name}`", choose(name, possible))
        elif why := obstacle(known):
            remedy = "take the waiver out, and mend the job"
            yield Report(at, f"`{name}` cannot be waived: {why}", remedy)
        elif weights(site.rules, site.team.name).get(known.name, known.rule.severity) == "error":
            yield Report(
                at,
                f"`{name}` is an error here, and no job waives an error by itself",
                "mend the job, or ask the platform team for a file under policy/waivers/",
            )
