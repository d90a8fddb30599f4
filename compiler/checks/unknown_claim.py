"""The cluster's catalogue has no claim of this name.

## What it does
Reports a claim in `mounts`, `checkpoint`, a sidecar, an init container or `pod:` that the
cluster's policy does not list under `claims`. A cluster that lists none is not asked.

## Why it is bad
Pods that mount a claim which is not there wait for it, with the accelerators already reserved. It
is a warning, for a claim may be made by hand; then nobody knows its access mode.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
mounts: {/data: {claim: dataset, read_only: true}}
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
- jupyterhub/zero-to-jupyterhub-k8s#1317
- pytorch/elastic#112
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.suggestions import choose
from compiler.volumes import claims

RULE = Rule(
    code="STO710",
    severity=Severity.WARNING,
    stage="run",
    sources=("jupyterhub/zero-to-jupyterhub-k8s#1317", "pytorch/elastic#112"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The claims that the catalogue lacks."""
    known = site.cluster.value.claims
    if known is None:
        return
    allowed = site.team.value.claims
    usable = [name for name in known if allowed is None or name in allowed]
    for _, item in claims(run):
        if item.source not in known:
            yield Report(
                item.source_route,
                f"the cluster {site.cluster.name} has no claim `{item.source}`",
                choose(item.source, usable),
                ((site.cluster.place("claims", key=True), "its claims"),),
            )
