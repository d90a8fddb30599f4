"""A launcher or a shell is given nothing to start.

## What it does
Reports torchrun (also as `torch.distributed.run`) without a script behind it, a shell whose last
word is `-c`, and one whose script runs nothing.

## Why it is bad
The first two end at once with a line on their usage, after the accelerators were waited for; with
`retry` they do so several times. A shell with such a script ends with 0, and the run counts as
complete.

## Example
```yaml
team: nlp
image: llm-sft
command: [torchrun, --standalone]
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
command: [torchrun, train.py]
args: {model: /models/base-8b}
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- pytorch/pytorch: torch/distributed/run.py, get_args_parser
- POSIX.1-2024: sh, OPTIONS
"""

import re
from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.launch import launches, scripts
from compiler.model import Run
from compiler.programs import Container, Word, training
from compiler.rules import Report, Rule
from compiler.shell import SHELLS, commands, program
from compiler.site import Site

RULE = Rule(
    code="LCH540",
    severity=Severity.ERROR,
    stage="run",
    sources=("pytorch/pytorch: torch/distributed/run.py, get_args_parser",),
)
_MODULE = "torch.distributed.run"
_FLAG = re.compile(r"-\S*")
_COMMAND = re.compile(r"-[a-z]*c")


def check(run: Run, site: Site) -> Iterator[Report]:
    """The word after which something is missing."""
    told: set[object] = set()
    for member in run.members:
        container = training(run, member, site)
        words = container.words
        if not container.command:
            continue
        for word, message, remedy in _lacking(container):
            if word.route not in told:
                told.add(word.route)
                yield Report(word.route, message, remedy, word.related, place=word.place)
        for launch in launches(container):
            if launch.launcher != "torchrun" or launch.scripted or launch.word.route in told:
                continue
            behind = words[words.index(launch.word) + 1 :] if launch.word in words else None
            # Started as a module, the launcher's word is the interpreter.
            texts = [word.text for word in behind or ()]
            if behind and _MODULE in texts:
                behind = behind[texts.index(_MODULE) + 1 :]
            # A flag that nobody knows may have taken the script for its value, and one word may
            # stand for several (command-in-one-word).
            if launch.target or behind is None or not all(_FLAG.fullmatch(w.text) for w in behind):
                continue
            if launch.flag("help", "h") is None:
                told.add(launch.word.route)
                yield Report(
                    launch.word.route,
                    f"`{launch.program}` is given no script to start",
                    "write the script behind it, such as train.py",
                    launch.word.related,
                    place=launch.word.place,
                )


def _lacking(container: Container) -> Iterator[tuple[Word, str, str]]:
    words = container.words
    for index in scripts(container):
        if not commands(words[index].text):
            yield (
                words[index],
                "the script runs nothing",
                "write the commands to run, as one text",
            )
    if len(words) < 2 or not _COMMAND.fullmatch(words[-1].text):
        return
    if program(words[-2].text) in SHELLS:
        yield words[-1], "nothing stands behind `-c`", "write the commands behind it, as one text"
