"""The team may not mount this claim.

## What it does
Reports a claim of the cluster that is missing from the team's `claims`, where the team has such a
list.

## Why it is bad
The list is there because the data is not for everyone. A claim is in every team's namespace, so
nothing in the cluster would hold the pods back.

## Example
```yaml
# jobs/speech/example.yaml
image: tts
command: [torchrun, -m, tts.train]
cluster: west
accelerators: A100-80GB:8
queue: research
max_duration: 24h
mounts: {/models: {claim: models, read_only: true}}
```

## Use instead
```yaml
# jobs/speech/example.yaml
image: tts
command: [torchrun, -m, tts.train]
cluster: west
accelerators: A100-80GB:8
queue: research
max_duration: 24h
mounts: {/data: {claim: datasets, read_only: true}}
```

## References
- k8s.io/kubernetes: pkg/apis/core/types.go PersistentVolumeClaimVolumeSource
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.suggestions import choose
from compiler.volumes import claims

RULE = Rule(
    code="STO714",
    severity=Severity.ERROR,
    stage="run",
    sources=("k8s.io/kubernetes: pkg/apis/core/types.go PersistentVolumeClaimVolumeSource",),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The claims that the team's list lacks."""
    known, allowed = site.cluster.value.claims or {}, site.team.value.claims
    if allowed is None:
        return
    for _, item in claims(run):
        if item.source in known and item.source not in allowed:
            yield Report(
                item.source_route,
                f"the team {site.team.name} may not mount the claim `{item.source}`",
                choose(item.source, [name for name in allowed if name in known])
                + ", or ask the platform team for it",
                ((site.team.place("claims"), "the team's claims"),),
            )
