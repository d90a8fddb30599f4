"""This version of Kueue ignores PyTorchJobs unless it is told not to.

## What it does
Reports queued PyTorchJobs on a cluster whose `versions.kueue` is 0.19 or later, once a cluster,
at the line with the version.

## Why it is bad
From 0.19 on PyTorchJob is not among the kinds of the default configuration. Kueue then neither
suspends nor counts these runs: they start at once, outside all quotas. To keep them, add
`kubeflow.org/pytorchjob` to `integrations.frameworks`.

## Example
```sh
sed -i 's/kueue: 0.17.0/kueue: 0.19.2/' policy/clusters/west.yaml
```

## Use instead
```sh
sed -i 's/kueue: 0.17.0/kueue: 0.18.1/' policy/clusters/west.yaml
```

## References
- kubernetes-sigs/kueue#12620
"""

import re
from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

FIRST = (0, 19)

RULE = Rule(
    code="OPS840",
    severity=Severity.WARNING,
    stage="run",
    sources=("kubernetes-sigs/kueue#12620",),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """A version of Kueue that leaves this run alone."""
    versions = site.cluster.value.versions
    if site.backend != "pytorchjob" or not site.kueue or run.queue is None:
        return
    if versions is None or versions.kueue is None:
        return
    number = tuple(int(part) for part in re.findall(r"[0-9]+", versions.kueue)[:2])
    if number < FIRST:
        return
    yield Report(
        (),
        f"Kueue {versions.kueue} leaves PyTorchJobs alone unless its configuration names them",
        "see that `integrations.frameworks` has kubeflow.org/pytorchjob, and turn the rule off in"
        " policy/rules.yaml then",
        place=site.cluster.place("versions", "kueue"),
    )
