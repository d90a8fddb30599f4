"""torchrun is given a flag that it does not know.

## What it does
Reports a flag before the training script that is none of torchrun's, and `--shutdown_timeout` where
the image's torch is older than 2.12, which brought it. Where the image does not say which torch it
has, or has a later one than 2.15, only what looks like a misspelt flag is reported.

## Why it is bad
torchrun stops with \"unrecognized arguments\" before it starts anything, on every node, and does so
again at each retry. A flag of the training script belongs behind the script.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
command: [torchrun, --learning_rate=2e-5, train.py]
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
command: [torchrun, train.py, --learning_rate=2e-5]
```

## References
- pytorch/pytorch: torch/distributed/run.py, get_args_parser
- pytorch/pytorch#172596
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.launch import TORCHRUN_FLAGS, launches
from compiler.model import Run
from compiler.programs import training
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.suggestions import nearest
from compiler.torchbuild import torch_of

RULE = Rule(
    code="LCH547",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "pytorch/pytorch: torch/distributed/run.py, get_args_parser",
        "pytorch/pytorch#172596",
    ),
)

# Flags that a later torch has brought, and the last torch whose flags are all known here.
FIRST = {"shutdown_timeout": (2, 12)}
KNOWN = (2, 15)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The flags at which torchrun stops."""
    for member in run.members:
        torch = torch_of(member.image.torch)
        version = torch.version if torch is not None else None
        for launch in launches(training(run, member, site)):
            if launch.launcher != "torchrun":
                continue
            for flag in launch.flags:
                spelt = flag.word.text.partition("=")[0]
                if flag.passed or not spelt.startswith("--") or " " in spelt:
                    # Several words in one have a rule of their own.
                    continue
                first = FIRST.get(flag.name)
                if flag.name in TORCHRUN_FLAGS:
                    if first is None or version is None or version >= first:
                        continue
                    message = (
                        f"torchrun knows `{spelt}` from torch {first[0]}.{first[1]} on, and "
                        f"`{member.image.name}` has {member.image.torch}"
                    )
                    remedy = "take it out, or take an image with a newer torch"
                else:
                    if any(known.startswith(flag.name) for known in TORCHRUN_FLAGS):
                        # A clear beginning of a flag is as good as the flag.
                        continue
                    near = nearest(flag.name, TORCHRUN_FLAGS, 0.8)
                    if near is None and (version is None or version > KNOWN):
                        continue
                    message = f"torchrun knows no flag `{spelt}`"
                    remedy = f"write `--{near}`" if near else "write it behind the training script"
                yield Report(
                    flag.word.route,
                    message,
                    remedy,
                    flag.word.related,
                    place=flag.word.place,
                )
