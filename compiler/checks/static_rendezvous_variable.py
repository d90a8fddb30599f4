"""A script reads a variable that runs of this shape do not have.

## What it does
Reports variables of the rendezvous that a shell's script reads, and that neither the operator nor
the job nor the script sets: `${PET_RDZV_ENDPOINT}` in a run that is not elastic, `${MASTER_ADDR}`
or `${RANK}` in an elastic one, any of them in a batch Job on one node; `NODE_RANK` and
`LOCAL_RANK` outside torchrun's processes.

## Why it is bad
A shell puts nothing in the place of a variable that is not set: torchrun gets `--rdzv_endpoint ""`
and falls back to this machine, so each node waits for itself alone.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
command:
  - bash
  - -c
  - exec torchrun --rdzv_endpoint "${PET_RDZV_ENDPOINT}" train.py
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
command: [bash, -c, exec torchrun train.py]
```

## References
- meta-pytorch/torchx#759
- kubeflow/trainer#2277
- kubeflow/training-operator: pkg/controller.v1/pytorch/envvar.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.environment import PROVIDED_NAMES, SHAPES, Shape, added, reaches, shape
from compiler.launch import script
from compiler.model import Run
from compiler.programs import Container, every_container
from compiler.rules import Report, Rule
from compiler.shell import assigned, reads_elsewhere, uses
from compiler.site import Site

RULE = Rule(
    code="LCH535",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "meta-pytorch/torchx#759",
        "kubeflow/trainer#2277",
        "kubeflow/training-operator: pkg/controller.v1/pytorch/envvar.go",
    ),
)

# No operator sets these; torchrun does, for the processes that it starts.
NEVER = frozenset({"NODE_RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK"})


def check(run: Run, site: Site) -> Iterator[Report]:
    """The variables that a script reads in vain."""
    for _, container in every_container(run, site):
        found = script(container)
        if found is None or container.open or "$" not in found[0].text:
            continue
        given = added(run, site.backend)
        kind = shape(run, site.backend)
        word = found[0]
        if reads_elsewhere(word.text):
            continue
        known = {setting.name for setting in container.env} | assigned(word.text)
        if reaches(site.backend, container.kind):
            known |= set(given)
        missing = [
            use
            for use in uses(word.text)
            if use.name in PROVIDED_NAMES | NEVER and use.name not in known and not use.optional
        ]
        for use in missing:
            whose = _whose(use.name, container, kind)
            yield Report(
                word.route,
                f"the script reads `{use.text}`, and {whose} has no {use.name}",
                _remedy(use.name, kind, given),
                related=word.related,
                place=word.place,
            )


def _whose(name: str, container: Container, kind: Shape) -> str:
    if container.kind == "init":
        return "an init container"
    return "a pod" if name in NEVER else SHAPES[kind]


def _remedy(name: str, kind: Shape, given: dict[str, str]) -> str:
    if name in ("NODE_RANK", "GROUP_RANK") and "PET_NODE_RANK" in given:
        return "write ${PET_NODE_RANK}"
    if name == "LOCAL_RANK" or name == "LOCAL_WORLD_SIZE":
        return "take it out: torchrun gives it to each process that it starts"
    if kind == "elastic":
        return "take it out: torchrun finds the other nodes through ${PET_RDZV_ENDPOINT}"
    if kind == "static":
        return (
            "take it out, for torchrun reads MASTER_ADDR; or write num_nodes: {min: ..., max: ...}"
        )
    return "take it out: on one node torchrun needs no flags"
