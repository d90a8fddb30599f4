"""A shell gets its script in several words.

## What it does
Reports words after the script of `bash -c` that the script does not use (`$@`, `$1`), in every
container.

## Why it is bad
A shell takes one word after `-c` as the script. The next ones become `$0`, `$1` and so on: `bash
-c torchrun train.py` runs `torchrun` with no arguments, and `args:` after a script go nowhere.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
command: [bash, -c, torchrun, train.py]
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
command: [bash, -c, "torchrun train.py"]
```

## References
- kubernetes/kubernetes#128843
- Yelp/task_processing#159
- Spirals-Team/benchmark-containers#25
"""

import json
import shlex
from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.launch import script
from compiler.model import Run
from compiler.programs import every_container
from compiler.rules import Report, Rule
from compiler.shell import sequence, takes_arguments
from compiler.site import Site

RULE = Rule(
    code="LCH527",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubernetes/kubernetes#128843",
        "Yelp/task_processing#159",
        "Spirals-Team/benchmark-containers#25",
    ),
)

# What people write for `$0`, the name under which a script complains.
NAMES = frozenset({"--", "_", "-", "bash", "sh"})


def check(run: Run, site: Site) -> Iterator[Report]:
    """The words that a script never reads."""
    for _, container in every_container(run, site):
        found = script(container)
        if found is None:
            continue
        word, index = found
        words = container.words[index + 1 :]
        rest = [other.text for other in words]
        if not rest or (len(rest) == 1 and rest[0] in NAMES) or takes_arguments(word.text):
            continue
        first = container.words[index + 1]
        shell = " ".join(other.text for other in container.words[:index])
        yield Report(
            first.route,
            f"`{first.text}` is not part of the script of `{shell}`, which is one word: "
            f"`{_short(word.text)}`",
            f"write {_fixed([other.text for other in container.words[:index]], word.text, rest)}"
            + (", and take `args` out" if any("args" in other.route for other in words) else ""),
            related=first.related,
            place=first.place,
        )


def _fixed(shell: list[str], script: str, rest: list[str]) -> str:
    commands = sequence(script)
    # Behind the last of several commands they would be that one's, behind `&` a command.
    if "\n" in script.strip() or len(commands) > 1 or (commands and commands[-1][1]):
        return 'the arguments into the script where they belong, or `"$@"` there and -- before them'
    whole = f"{script.strip()} {shlex.join(rest)}"
    return f"[{', '.join(shell)}, {json.dumps(whole, ensure_ascii=False)}]"


def _short(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 40 else line[:37] + "..."
