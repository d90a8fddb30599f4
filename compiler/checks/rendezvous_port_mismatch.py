"""A port on the command line is not the run's rendezvous port.

## What it does
Reports a number in `--master_port`, `--main_process_port` or `--rdzv_endpoint` that differs from
the port that the operator declares for the run, on several nodes or on the nodes' own network.

## Why it is bad
A flag changes neither the port of the Service nor what the other containers read in MASTER_PORT.
On the nodes' own network each run has a port of its own; a fixed number meets that of the next run
on the same node.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
host_network: true
command: [torchrun, --master_port=2057, train.py]
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
host_network: true
command: [torchrun, train.py]
```

## References
- kubeflow/trainer#2282
- kubeflow/trainer#1797
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.environment import added, shape
from compiler.launch import Flag, launches
from compiler.model import Run
from compiler.programs import training
from compiler.rendezvous import written_host
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH524",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubeflow/trainer#2282",
        "kubeflow/trainer#1797",
    ),
)

PORTS = ("master_port", "main_process_port")


def check(run: Run, site: Site) -> Iterator[Report]:
    """The flags with a port of their own."""
    kind = shape(run, site.backend)
    if kind == "job" or (kind == "one-node" and not run.host_network):
        # One node alone needs no Service, and its port is nobody else's.
        return
    given = added(run, site.backend)
    endpoint = given.get("PET_RDZV_ENDPOINT", "")
    expected = endpoint.rpartition(":")[2] if endpoint else given["MASTER_PORT"]
    name = "PET_RDZV_ENDPOINT" if endpoint else "MASTER_PORT"
    for member in run.members:
        for launch in launches(training(run, member, site)):
            for flag in launch.flags:
                number = _port(flag)
                if number is None or number == expected:
                    continue
                named = flag.name == "rdzv_endpoint" and written_host(run, launch, flag) is not None
                if named and run.nodes > 1:
                    # The host before it is wrong already, of which fixed-rendezvous-address tells.
                    continue
                if launch.launcher == "torchrun" and not flag.passed:
                    remedy = f"take it out: torchrun reads the address from the operator's {name}"
                elif endpoint:
                    remedy = "take it out"
                else:
                    remedy = "write $(MASTER_PORT) for the number" + (
                        ", and read it in the shell as ${MASTER_PORT}" if launch.scripted else ""
                    )
                yield Report(
                    flag.word.route,
                    f"`{flag.text}`, but the run's rendezvous port is "
                    + ("one of its own, for the host's network" if run.host_network else expected),
                    remedy,
                    related=flag.word.related,
                    place=flag.word.place,
                )


def _port(flag: Flag) -> str | None:
    """The port that a flag names, as it is written; None where it names none or is not known."""
    if flag.value is None:
        return None
    if flag.name in PORTS:
        return flag.value if flag.value.isdigit() else None
    if flag.name == "rdzv_endpoint" and not flag.passed:
        number = flag.value.rpartition(":")[2]
        return number if number.isdigit() and ":" in flag.value else None
    return None
