"""Two jobs mount a claim that one node at a time can mount.

## What it does
Reports a ReadWriteOnce or ReadWriteOncePod claim that jobs of one namespace both mount, unless one
of them is stopped. A run that is active mounts what it was started with, whatever has become of its
file since.

## Why it is bad
The volume is attached to the node of the run that comes first. The pods of the other one stay at
\"Multi-Attach error\" (or unscheduled, with ReadWriteOncePod) until the first has ended, and hold
their accelerators and their quota while they wait.

## Example
```yaml
# jobs/nlp/clean-corpus.yaml
image: data-tools
command: [data-tools, clean, --in, /raw/corpus]
cpu: 8
memory: 32Gi
queue: data
max_duration: 20h
mounts: {/raw: {claim: raw}}
```
```yaml
# jobs/nlp/count-corpus.yaml
image: data-tools
command: [data-tools, count, --in, /raw/corpus]
cpu: 8
memory: 32Gi
queue: data
max_duration: 20h
mounts: {/raw: {claim: raw}}
```

## Use instead
```yaml
# jobs/nlp/tokenize-corpus.yaml
image: data-tools
command: [data-tools, tokenize, --in, /raw/corpus]
cpu: 8
memory: 32Gi
queue: data
state: stopped
max_duration: 20h
mounts: {/raw: {claim: raw}}
```
```yaml
# jobs/nlp/clean-corpus.yaml
image: data-tools
command: [data-tools, clean, --in, /raw/corpus]
cpu: 8
memory: 32Gi
queue: data
max_duration: 20h
mounts: {/raw: {claim: raw}}
```

## References
- longhorn/longhorn#336
- red-hat-storage/ocs-ci#1149
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from compiler.diagnostics import Finding, Place, Related, Severity
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.project import Project

RULE = Rule(
    code="STO721",
    severity=Severity.WARNING,
    stage="repository",
    sources=("longhorn/longhorn#336", "red-hat-storage/ocs-ci#1149"),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The claims for one node that an earlier job mounts already."""
    first: dict[tuple[str, str, str], tuple[Judged, list[Any]]] = {}
    for job in jobs:
        told: set[str] = set()
        for run in job.runs:
            for claim, place in () if run.stopped else run.claims.items():
                other, where = first.setdefault((run.cluster, run.namespace, claim), (job, place))
                if other is job or claim in told:
                    continue
                told.add(claim)
                cluster = project.policy.clusters[run.cluster]
                access = (cluster.value.claims or {})[claim].access
                whom = "pod" if access == "ReadWriteOncePod" else "node"
                yield finding(
                    "claim-of-two-runs",
                    Place(*place),
                    f"`{other.job}` mounts `{claim}` too, and it is {access}: one {whom} at a time"
                    " can",
                    "take a claim with ReadWriteMany, or stop the other job first",
                    [
                        Related(Place(*where), f"the mount of {other.job}"),
                        Related(cluster.place("claims", claim, "access"), "the claim"),
                    ],
                )
