"""The service mesh would put its sidecar into the training pods.

## What it does
On a cluster with `istio: true` the compiler writes `sidecar.istio.io/inject: \"false\"` into
every pod template. This reports a job that says otherwise, as a label or an annotation, in its
own fields or in `pod:`.

## Why it is bad
The sidecar holds the connections between workers back (\"connection refused\"), and it goes on
when the training has ended, so that the run never completes.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
annotations: {sidecar.istio.io/inject: "true"}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- kubeflow/pytorch-operator#258
- kubeflow/website#2011
- kubeflow/trainer#2327
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.marks import marks
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

NAME = "sidecar.istio.io/inject"

RULE = Rule(
    code="NET625",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubeflow/pytorch-operator#258", "kubeflow/website#2011", "kubeflow/trainer#2327"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The marks that call the mesh's sidecar."""
    network = site.cluster.value.network
    if network is None or not network.istio:
        return
    for member in run.members:
        for mark in marks(run, member):
            if mark.name == NAME and mark.value != "false":
                yield Report(
                    mark.route,
                    f"`{NAME}: {mark.value}` brings the mesh's sidecar into the training pods",
                    "take it out: the compiler keeps the sidecar away",
                    ((site.cluster.place("network", "istio"), "the cluster has a mesh"),),
                )
