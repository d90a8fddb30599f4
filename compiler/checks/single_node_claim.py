"""A claim for one node is mounted by pods on several.

## What it does
Reports a ReadWriteOnce (or ReadWriteOncePod) claim that more than one pod of the run mounts. The
first node may mount it by itself, under `master:`.

## Why it is bad
The volume is attached to the node of the first pod. The others stop at \"Multi-Attach error\" and
wait for ever, while the first one waits for them with its accelerators.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: 2
mounts: {/raw: {claim: raw}}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: 2
mounts: {/raw: {claim: datasets, read_only: true}}
```

## References
- NVIDIA/deepops#587
- pytorch/elastic#112
- kserve/kserve#3409
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.volumes import catalogued

RULE = Rule(
    code="STO712",
    severity=Severity.ERROR,
    stage="run",
    sources=("NVIDIA/deepops#587", "pytorch/elastic#112", "kserve/kserve#3409"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The mounts of a claim for one node on several."""
    pods: dict[str, int] = {}
    found = list(catalogued(run, site))
    alone = run.first is run.others
    for member in run.members:
        count = run.nodes if alone else 1 if member is run.first else run.nodes - 1
        for name in {item.source for owner, item, _ in found if owner is member}:
            pods[name] = pods.get(name, 0) + count
    for _, item, claim in found:
        if claim.access not in ("ReadWriteOnce", "ReadWriteOncePod") or pods[item.source] < 2:
            continue
        shared = [
            name
            for name, other in (site.cluster.value.claims or {}).items()
            if other.access == "ReadWriteMany" and not other.read_only
        ]
        yield Report(
            item.source_route,
            f"{pods[item.source]} nodes would mount `{item.source}`, which is {claim.access}:"
            " only one at a time can",
            "take a claim with ReadWriteMany"
            + (f" ({', '.join(shared)})" if shared else "")
            + ", or mount it on the first node alone, under `master:`",
            ((site.cluster.place("claims", item.source, "access"), "the claim"),),
        )
