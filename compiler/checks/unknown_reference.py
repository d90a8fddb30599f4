"""A reference to a variable that is not there.

## What it does
Reports `$(NAME)` in command, args and env of every container where NAME is no variable of that
container. In `env` only variables count that stand earlier in the list, which never are the
operator's. In a shell's script only upper-case names are meant, since `$(hostname)` runs a command
there. `$$(NAME)` is left alone.

## Why it is bad
Kubernetes leaves a reference that it does not know as it is: the program gets the letters
`$(NAME)`, and a shell tries to run a program called NAME.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env: {OUT: "$(ROOT)/logs"}
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
env: {ROOT: /ckpt, OUT: "$(ROOT)/logs"}
```

## References
- meta-pytorch/torchx#759
- kubernetes/website#8907
- kubernetes/kubernetes#31686
- k8s.io/kubernetes: pkg/kubelet/kubelet_pods.go
"""

import re
from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.environment import (
    PROVIDED_NAMES,
    SHAPES,
    Shape,
    added,
    identity_names,
    reaches,
    shape,
)
from compiler.launch import script
from compiler.model import Run
from compiler.podtemplate import OWN_STORE
from compiler.programs import every_container
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.suggestions import nearest
from compiler.variables import references

RULE = Rule(
    code="LCH526",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "meta-pytorch/torchx#759",
        "kubernetes/website#8907",
        "kubernetes/kubernetes#31686",
        "k8s.io/kubernetes: pkg/kubelet/kubelet_pods.go",
    ),
)

UPPER = re.compile(r"[A-Z][A-Z0-9_]*")
# What the kubelet adds for the Services of the namespace, before the container's own variables.
SERVICE = re.compile(r"[A-Z0-9_]+_SERVICE_(?:HOST|PORT)(?:_[A-Z0-9_]+)?")
OF_THE_IMAGE = frozenset(
    {"PATH", "HOME", "USER", "PYTHONPATH", "LD_LIBRARY_PATH", "HOSTNAME", "PWD"}
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The references that nothing answers."""
    for _, container in every_container(run, site):
        if container.open or not container.holds("$("):
            continue
        given = added(run, site.backend)
        kind = shape(run, site.backend)
        known = {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", OWN_STORE}
        if container.kind == "training":
            known |= identity_names(run)
        own = {setting.name for setting in container.env}
        for setting in container.env:
            for name in references(setting.value or ""):
                # A variable that refers to itself is a circle, which is told of already.
                if not _answered(name, known) and name != setting.name:
                    yield Report(setting.route, *_in_env(name, own, given, known, kind))
            known.add(setting.name)
        if reaches(site.backend, container.kind):
            known |= set(given)
        inside = script(container)
        for index, word in enumerate(container.words):
            scripted = inside is not None and index == inside[1]
            for name in references(word.text) if "$(" in word.text else ():
                if _answered(name, known) or (scripted and not UPPER.fullmatch(name)):
                    continue
                yield Report(
                    word.route, *_in_words(name, known, kind), word.related, place=word.place
                )


def _answered(name: str, known: set[str]) -> bool:
    return name in known or SERVICE.fullmatch(name) is not None


def _in_env(
    name: str, own: set[str], given: dict[str, str], known: set[str], kind: Shape
) -> tuple[str, str]:
    if name in given:
        return (
            f"`$({name})` stays these letters: the operator's variables come after the job's own",
            f"use $({name}) in command or args, or read {name} in the program",
        )
    if name in own:
        return (
            f"`$({name})` stays these letters: {name} stands later in the list",
            f"put {name} before it",
        )
    return _in_words(name, known, kind)


def _in_words(name: str, known: set[str], kind: Shape) -> tuple[str, str]:
    if name in PROVIDED_NAMES:
        return (
            f"`$({name})` stays these letters: {SHAPES[kind]} has no {name}",
            "take it out: torchrun needs no flags, for it reads its environment",
        )
    if name in OF_THE_IMAGE:
        return (
            f"`$({name})` stays these letters: Kubernetes does not know the image's own variables",
            f'write the value, or let a shell read ${name}: [bash, -c, "exec ..."]',
        )
    near = nearest(name, sorted(known))
    remedy = f"write $({near})" if near else f"set {name} in env, or take the reference out"
    return (
        f"`$({name})` stays these letters: the container has no variable {name}",
        f"{remedy}; write $$({name}) for these letters themselves",
    )
