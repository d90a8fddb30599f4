"""Nodes are chosen under `pod:` in a run that a queue admits.

## What it does
Reports `nodeSelector` and `tolerations` of the pod spec in a run with a queue, on a cluster where
Kueue admits runs.

## Why it is bad
Kueue adds the labels and tolerations of the flavor that it picked to the same fields. Under
server-side apply each of the two is one atomic value: the next sync takes Kueue's part out again,
and pods made later land anywhere.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
pod:
  spec:
    nodeSelector: {node.example.com/zone: a}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
pod:
  spec:
    affinity:
      nodeAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
            - matchExpressions: [{key: node.example.com/zone, operator: In, values: [a]}]
```

## References
- kubernetes-sigs/kueue 0.17, pkg/podset
- kubernetes-sigs/structured-merge-diff, atomic fields
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.passthrough import fragments, mapped
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="OPS820",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubernetes-sigs/kueue: pkg/podset/podset.go",),
)

REMEDIES = {
    "nodeSelector": "write an affinity (spec.affinity.nodeAffinity), which Kueue leaves alone",
    "tolerations": "have the tolerations put into the queue's flavor, and take them out here",
}


def check(run: Run, site: Site) -> Iterator[Report]:
    """Fields of a fragment that Kueue writes to as well."""
    if run.queue is None or not site.kueue:
        return
    for _, at, pod in fragments(run):
        spec = mapped(pod.get("spec"))
        for field, remedy in REMEDIES.items():
            if spec.get(field):
                yield Report(
                    (*at, "spec", field),
                    f"`{field}` is also written by Kueue, and each sync would take its part out",
                    remedy,
                    (
                        (("queue",), "Kueue admits the run through this queue"),
                        (site.cluster.place("admission"), "Kueue admits the runs of this cluster"),
                    ),
                    key=True,
                )
