"""More time to stop than the launcher gives its processes.

## What it does
Reports `stop: {grace: ...}` of more than 30 seconds for a run that torchrun or accelerate starts
in an image whose torch is older than 2.12, or that deepspeed starts. From torch 2.12 on it reports
a `--shutdown_timeout` or TORCH_ELASTIC_SHUTDOWN_TIMEOUT that is over long before the grace is.

## Why it is bad
torchrun passes SIGTERM on and kills its processes 30 seconds later, whatever the pod has left: a
last checkpoint that takes longer is cut off. From 2.12 on it reads TORCH_ELASTIC_SHUTDOWN_TIMEOUT,
which is set from `grace` where the job does not set it. deepspeed has its 30 seconds in its code.

## Example
```yaml
# images/ddp-mini/image.yaml
entry: [torchrun, train.py]
torch: 2.9.1
```

## Use instead
```yaml
# images/ddp-mini/image.yaml
entry: [torchrun, train.py]
torch: 2.13.0
```

## References
- pytorch/pytorch#119856
- pytorch/pytorch#68258
- pytorch/pytorch#172596
- deepspeed/launcher/launch.py: terminate_process_tree
"""

import re
from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.launch import Launch, main
from compiler.model import Run
from compiler.programs import Container, training
from compiler.quantity import duration_text
from compiler.rules import Report, Route, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH534",
    severity=Severity.WARNING,
    stage="run",
    sources=(
        "pytorch/pytorch#119856",
        "pytorch/pytorch#68258",
        "pytorch/pytorch#172596",
        "deepspeed/launcher/launch.py: terminate_process_tree",
    ),
)

# The first torch whose torchrun has --shutdown-timeout and reads the variable (#172596).
FIRST = (2, 12)
BUILT_IN = 30
VARIABLE = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
# What a job may well keep for itself after its processes have ended.
MARGIN = 30


def check(run: Run, site: Site) -> Iterator[Report]:
    """The grace that the processes do not get."""
    if run.grace <= BUILT_IN:
        return
    grace = duration_text(run.grace)
    for member in run.members:
        container = training(run, member, site)
        launch = main(container)
        if launch is None or launch.launcher not in ("torchrun", "accelerate", "deepspeed"):
            continue
        if launch.launcher == "deepspeed":
            if run.origins.place(("stop", "grace")).path != run.path:
                # A team's grace is for all its jobs, and most of them can use it.
                continue
            yield Report(
                ("stop", "grace"),
                f"`{grace}` to stop, but `deepspeed` kills its processes after 30 s",
                "start it with torchrun, or write a checkpoint within 30 s",
                ((launch.word.place or launch.word.route, "the launcher"),),
            )
            continue
        version = _version(member.image.torch)
        if version is not None and version < FIRST:
            about = site.images.get(member.image.name or "")
            related = ((about.place("torch"), "the image's torch"),) if about is not None else ()
            yield Report(
                ("stop", "grace"),
                f"`{grace}` to stop, but the torchrun of torch {member.image.torch} "
                "kills its processes after 30 s",
                "use an image with torch 2.12 or newer, or write a checkpoint within 30 s",
                related,
            )
            continue
        set_to = _timeout(container, launch)
        if set_to is not None and set_to[0] < run.grace - MARGIN:
            seconds, text, place, related = set_to
            yield Report(
                place,
                f"{text}, so torchrun kills its processes after {seconds} s, and the run has "
                f"{grace} to stop",
                "take it out: the compiler sets it from `stop: {grace: ...}`",
                ((("stop", "grace"), "the time to stop"), *related),
            )


def _timeout(
    container: Container, launch: Launch
) -> tuple[int, str, Route, tuple[tuple[Route, str], ...]] | None:
    """The seconds that torchrun is told to wait, the text that says so, and its route."""
    flag = launch.flag("shutdown_timeout")
    if flag is not None:
        if flag.number is None or flag.word.place is not None:
            return None
        return flag.number, f"`{flag.text}`", flag.word.route, flag.word.related
    for setting in container.env:
        if setting.name == VARIABLE and setting.value is not None and setting.value.isdecimal():
            return int(setting.value), f"{VARIABLE} is {setting.value}", setting.route, ()
    return None


def _version(text: str | None) -> tuple[int, int] | None:
    match = re.match(r"v?([0-9]+)\.([0-9]+)", text or "")
    return None if match is None else (int(match[1]), int(match[2]))
