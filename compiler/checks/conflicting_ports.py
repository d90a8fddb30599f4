"""Two ports of a pod get in each other's way, or a port has a name that cannot be.

## What it does
Reports port numbers and names that two containers of a pod share (init containers apart), names
longer than 15 characters, with two hyphens beside each other or without a letter, and in a
PyTorchJob the rendezvous port under another name and its name `pytorchjob-port` on another port.

## Why it is bad
All containers of a pod have one network, so the second process cannot bind the port. A number that
one container lists twice is refused with the whole object, a bad name when the pods are made. The
operator copies the ports of the training container into a Service, and where that is refused the
job loops in errors while its pods run and wait.

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

from collections.abc import Iterator

from compiler.backends.pytorchjob import PORT_NAME, port
from compiler.containers import At, containers
from compiler.diagnostics import Severity
from compiler.model import Route, Run
from compiler.podlimits import port_name
from compiler.rules import Report, Rule
from compiler.site import Site

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
        numbers: dict[int, tuple[At[tuple[str, int]], str]] = {}
        names: dict[str, At[tuple[str, int]]] = {}
        for part in containers(run, member):
            for entry in part.ports:
                name, number = entry.value
                told = port_name(name) if name else None
                if told is not None:
                    yield _of_name(entry, told)
                elif part.init:
                    continue
                elif rendezvous is not None and name == PORT_NAME and number != rendezvous:
                    message = (
                        f"`{name}` is the name of the rendezvous port, which the compiler adds"
                    )
                    yield _of_name(entry, (message, "choose another name"))
                elif rendezvous is not None and number == rendezvous and name != PORT_NAME:
                    message = f"{number} is the port of the rendezvous"
                    yield Report(entry.route, message, "choose another number, such as 9400")
                elif (taken := numbers.setdefault(number, (entry, part.name)))[0] is not entry:
                    by = "another container of the pod" if taken[1] != part.name else "another name"
                    message = f"the port {number} is taken by {by}"
                    remedy = "choose another number for one of the two"
                    yield Report(entry.route, message, remedy, ((taken[0].route, "the other one"),))
                elif name and (earlier := names.setdefault(name, entry)) is not entry:
                    told = (f"two ports of the pod are called {name}", "rename one of them")
                    yield _of_name(entry, told, ((earlier.route, "the other one"),))


def _of_name(
    entry: At[tuple[str, int]],
    told: tuple[str, str],
    related: tuple[tuple[Route, str], ...] = (),
) -> Report:
    # In a declaration the name is the key; under `pod:` the route is the name's own.
    return Report(entry.route, *told, related, key="pod" not in entry.route[:2])
