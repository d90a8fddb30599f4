"""A claim that can only be read is mounted for writing.

## What it does
Reports a claim which the catalogue calls `read_only`, or whose access is ReadOnlyMany, where it
is mounted without `read_only: true` or holds the checkpoints.

## Why it is bad
Kubernetes does not enforce the access mode of a claim at a mount. With some drivers the pods
never start, with others the first checkpoint fails after hours, and with others the job can
destroy the data set of everyone.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
mounts: {/data: {claim: datasets}}
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
```

## References
- kubernetes/kubernetes#37465
- gluster/gluster-csi-driver#81
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.volumes import catalogued

RULE = Rule(
    code="STO711",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubernetes/kubernetes#37465", "gluster/gluster-csi-driver#81"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The writable mounts of claims that can only be read."""
    for _, item, claim in catalogued(run, site):
        if item.read_only or not (claim.read_only or claim.access == "ReadOnlyMany"):
            continue
        field = "read_only" if claim.read_only else "access"
        related = ((site.cluster.place("claims", item.source, field), "the claim"),)
        if item.by == "checkpoint":
            writable = [
                name
                for name, other in (site.cluster.value.claims or {}).items()
                if not other.read_only and other.access == "ReadWriteMany"
            ]
            message = f"checkpoints cannot be written to `{item.source}`, which is read-only"
            remedy = "write a claim that can be written: " + (
                ", ".join(writable) or "there is none"
            )
        else:
            message = f"the claim `{item.source}` can only be read, and is mounted for writing"
            remedy = "add `readOnly: true`" if item.by == "pod" else "add `read_only: true`"
        yield Report(item.source_route, message, remedy, related)
