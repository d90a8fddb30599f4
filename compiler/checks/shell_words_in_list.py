"""A command is a list and is written as for a shell.

## What it does
Reports a `command` (or an image's `entry`) whose first word sets a variable, begins with a dash or
is one of the shell's own commands, such as `cd`, and one with a word that joins or redirects
commands, such as `&&`. Where the list starts a shell with `-c`, its script may have all of these.

## Why it is bad
No shell reads the list: its first word is the program and the others are its arguments. The
container cannot start, or the program gets `&&` as an argument.

## Example
```yaml
team: nlp
image: llm-sft
command: [cd, /workspace, "&&", torchrun, train.py]
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
command: [bash, -c, "cd /workspace && exec torchrun train.py --model=/models/base-8b"]
args: []
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- kubernetes.io: tasks/inject-data-application/define-command-argument-container
- pubs.opengroup.org: V3_chap02, special built-in utilities
"""

import json
import re
from collections.abc import Iterator
from itertools import pairwise

from compiler.diagnostics import Severity
from compiler.launch import scripts
from compiler.model import Run
from compiler.programs import Container, Word, every_container
from compiler.rules import Report, Rule
from compiler.shell import SHELLS, program
from compiler.site import Site

RULE = Rule(
    code="LCH550",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubernetes.io: tasks/inject-data-application/define-command-argument-container",
        "pubs.opengroup.org: V3_chap02, special built-in utilities",
    ),
)

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.ASCII | re.DOTALL)
_BUILT_IN = frozenset(
    ["cd", "export", "source", "set", "ulimit", "umask", "unset", ".", "eval", "trap"]
)
_OPERATORS = frozenset(["&&", "||", "|", ";", "&", ">", ">>", "<", "2>&1", ">&", "&>"])


def check(run: Run, site: Site) -> Iterator[Report]:
    """The words that only a shell would heed."""
    told: set[object] = set()
    for _, container in every_container(run, site):
        found = _found(container)
        if found is not None and found[0].route not in told:
            word, message, remedy = found
            told.add(word.route)
            yield Report(word.route, message, remedy, word.related, place=word.place)


def _found(container: Container) -> tuple[Word, str, str] | None:
    words = container.words
    if not container.command or not words:
        return None
    first = words[0]
    whole = json.dumps(" ".join(word.text for word in words), ensure_ascii=False)
    with_shell = f"write [bash, -c, {whole}]"
    if first.text.startswith("-"):
        message = f"no program is called `{first.text}`: a list item has a space behind its dash"
        return first, message, "write `- ` before each word, or the program before this flag"
    if _ASSIGNMENT.fullmatch(first.text):
        message = f"`{first.text}` is taken for the program: only a shell sets variables so"
        return first, message, "write it under `env:`"
    if first.text in _BUILT_IN:
        message = f"`{first.text}` is a command of the shell, and no shell runs this list"
        return first, message, with_shell
    if any(program(word.text) in SHELLS for word in words) or scripts(container):
        return None
    # Arguments may be any text, and so may the value of a flag.
    for before, word in pairwise(words[: len(container.command)]):
        if word.text in _OPERATORS and not before.text.startswith("-"):
            message = f"`{word.text}` is an argument of {first.text} here: no shell runs this list"
            return word, message, with_shell
    return None
