"""A pod asks for all cores or all memory of a node.

## What it does
Reports a pod that leaves less than a tenth of a core or 64Mi of what the catalogue's node offers,
where the catalogue does not say what system pods reserve there (`reserved_cpu`, `reserved_memory`).
Where it does, node-too-small counts with it.

## Why it is bad
Every node runs daemon sets: the network's, the device plugin's, the log collector's. They were
there first, so nothing that asks for a whole node is ever scheduled, and the run waits for a node
that cannot exist.

## Example
```sh
sed -i 's/, reserved_cpu: 2, reserved_memory: 8Gi//' policy/clusters/west.yaml
sed -i 's/^cpu: 48/cpu: 62/' jobs/nlp/tokenize-corpus.yaml
```

## Use instead
```sh
sed -i 's/, reserved_cpu: 2, reserved_memory: 8Gi//' policy/clusters/west.yaml
sed -i 's/^cpu: 48/cpu: 60/' jobs/nlp/tokenize-corpus.yaml
```

## References
- aws/sagemaker-hyperpod-cli#272
- aws/karpenter-provider-aws#7727
"""

from collections.abc import Iterator
from fractions import Fraction

from compiler.amounts import amount
from compiler.containers import asked, containers
from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site, free

RULE = Rule(
    code="RES440",
    severity=Severity.WARNING,
    stage="run",
    sources=("aws/sagemaker-hyperpod-cli#272", "aws/karpenter-provider-aws#7727"),
)

# What the smallest set of system pods requests: kube-proxy alone asks for a tenth of a core.
LEAST = {"cpu": Fraction(1, 10), "memory": Fraction(64 * 2**20)}


def check(run: Run, site: Site) -> Iterator[Report]:
    """The requests that leave nothing to the system's pods."""
    for member in run.members:
        name = member.devices.name if member.devices is not None else None
        found = site.node(name)
        if found is None:
            continue
        node = found[0]
        reserved = {"cpu": node.reserved_cpu, "memory": node.reserved_memory}
        parts = containers(run, member)
        for resource, least in LEAST.items():
            total, offered = asked(parts, resource), free(node, resource)
            if reserved[resource] is not None or not offered - least < total <= offered:
                continue
            request = max(
                (part.requests[resource] for part in parts if resource in part.requests),
                key=lambda request: request.value.value,
            )
            at = ("cpu_nodes",) if name is None else ("accelerators", name)
            kind = "a node without accelerators" if name is None else f"a node with {name}"
            yield Report(
                request.route,
                f"a pod asks for {amount(resource, total)} of the {amount(resource, offered)}"
                f" that {kind} has, and leaves nothing to system pods",
                f"ask for less; or say in policy what they reserve: `reserved_{resource}`",
                ((site.cluster.place(*at, "node", resource), "what a node offers"),),
            )
