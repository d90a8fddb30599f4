"""Two ports of a pod get in each other's way, or a port has a name that cannot be.

## What it does
Reports port numbers and names that two containers of a pod share (init containers apart), names
longer than 15 characters or without a letter, and in a PyTorchJob the rendezvous port under
another name and its name `pytorchjob-port` on another port.

## Why it is bad
All containers of a pod have one network, so the second process cannot bind the port. The operator
copies the ports of the training container into a Service, and where that is refused the job loops
in errors while its pods run and wait.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
num_nodes: 2
ports: {metrics: 23456}
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
ports: {metrics: 9400}
```

## References
- kubeflow/trainer#2282
- kubeflow/trainer#1797
- k8s.io/kubernetes: pkg/apis/core/validation/validation.go
"""

import re
from collections.abc import Iterator

from compiler.backends.pytorchjob import PORT_NAME, port
from compiler.containers import At, containers
from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

LONGEST = 15  # k8s.io/apimachinery pkg/util/validation, IsValidPortName

RULE = Rule(
    code="NET623",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubeflow/trainer#2282",
        "kubeflow/trainer#1797",
        "k8s.io/kubernetes: pkg/apis/core/validation/validation.go",
    ),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The ports whose number or name is taken or cannot be."""
    rendezvous = port(run) if site.backend == "pytorchjob" else None
    for member in run.members:
        numbers: dict[int, At[tuple[str, int]]] = {}
        names: dict[str, At[tuple[str, int]]] = {}
        for part in containers(run, member):
            if part.init:
                continue
            for entry in part.ports:
                name, number = entry.value
                problem = _problem(name, number, rendezvous)
                earlier = numbers.setdefault(number, entry)
                namesake = names.setdefault(name, entry) if name else entry
                related: tuple[tuple[tuple[str | int, ...], str], ...] = ()
                if problem is None and earlier is not entry:
                    related = ((earlier.route, "the other one"),)
                    problem = (
                        f"the port {number} is taken by another container of the pod",
                        "choose another number for one of the two",
                    )
                elif problem is None and namesake is not entry:
                    related = ((namesake.route, "the other one"),)
                    problem = (f"two ports of the pod are called {name}", "rename one of them")
                if problem is not None:
                    yield Report(entry.route, *problem, related)


def _problem(name: str, number: int, rendezvous: int | None) -> tuple[str, str] | None:
    if rendezvous is not None and name == PORT_NAME and number != rendezvous:
        return (
            f"`{PORT_NAME}` is the name of the rendezvous port, which the compiler adds",
            "choose another name",
        )
    if rendezvous is not None and number == rendezvous and name != PORT_NAME:
        return f"{number} is the port of the rendezvous", "choose another number, such as 9400"
    if len(name) > LONGEST:
        return (
            f"the port's name `{name}` has {len(name)} characters; {LONGEST} are possible",
            f"write {name[:LONGEST].strip('-')}",
        )
    if name and not re.search("[a-z]", name):
        return f"the port's name `{name}` has no letter", f"write p{name}"
    return None
