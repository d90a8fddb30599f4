"""Several words are written as one.

## What it does
Reports a program's name with spaces in it (`["torchrun train.py"]`), and an argument that holds a
flag and its value (`"--lr 1e-4"`), in every container.

## Why it is bad
A list is taken word by word. Kubernetes looks for a program whose name is `torchrun train.py`; a
program that gets `--lr 1e-4` as one word does not know such a flag.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
command: ["torchrun train.py"]
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
command: [torchrun, train.py]
```

## References
- kubernetes/kubernetes#128843
- Yelp/task_processing#159
- Spirals-Team/benchmark-containers#25
"""

import json
import re
import shlex
from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.launch import file_of, launches, script
from compiler.model import Run
from compiler.programs import FLAG_AND_VALUE, Container, every_container
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH528",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubernetes/kubernetes#128843",
        "Yelp/task_processing#159",
        "Spirals-Team/benchmark-containers#25",
    ),
)

# A script and what is behind it, in one word.
SCRIPT = re.compile(r"[\w./-]+\.(?:py|sh)\s+\S", re.ASCII)
# A path with a space in it, such as /opt/my tools/train.
PATH = re.compile(r"/[^\s]*(?: [^\s]*/[^\s]*)+")


def check(run: Run, site: Site) -> Iterator[Report]:
    """The words that are several."""
    for _, container in every_container(run, site):
        yield from _scripts(container)
        inside = script(container)
        for index, word in enumerate(container.words):
            if index == 0 and container.command and not word.text:
                remedy = "write the program, such as torchrun"
                yield Report(word.route, "no program has an empty name", remedy, place=word.place)
            if word.text.isprintable() and " " not in word.text:
                continue
            if index == 0 and container.command and not PATH.fullmatch(word.text):
                yield Report(
                    word.route,
                    f"no program is called `{_short(word.text)}`: a list is taken word by word",
                    f"write {_fixed(word.text)}",
                    related=word.related,
                    place=word.place,
                )
            flag = FLAG_AND_VALUE.fullmatch(word.text.strip())
            if flag is None or index == 0 or (inside is not None and index >= inside[1]):
                continue
            before = container.words[index - 1].text
            if before.startswith("-") and "=" not in before:
                # The value of the flag before it.
                continue
            yield Report(
                word.route,
                f"`{word.text}` is one word: the program knows no flag of this name",
                f"write {flag[1]}, {json.dumps(flag[2])} as two words, or {flag[1]}={flag[2]}",
                related=word.related,
                place=word.place,
            )


def _scripts(container: Container) -> Iterator[Report]:
    """The scripts that are written as one word with what belongs to them."""
    for launch in launches(container):
        word = file_of(launch)
        # What is started as it is, is the program's own word.
        if word is None or launch.scripted or word is launch.word:
            continue
        if SCRIPT.match(word.text):
            yield Report(
                word.route,
                f"`{_short(word.text)}` is one word: there is no file of this name",
                f"write {_fixed(word.text)[1:-1]} as words of their own",
                related=word.related,
                place=word.place,
            )


def _fixed(text: str) -> str:
    if SHELL_SYNTAX.search(text):
        return f"[bash, -c, {json.dumps(text.strip(), ensure_ascii=False)}]"
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    plain = re.compile(r"[A-Za-z0-9_./@-][A-Za-z0-9_./@=-]*")
    shown = [w if plain.fullmatch(w) else json.dumps(w, ensure_ascii=False) for w in words]
    return f"[{', '.join(shown)}]"


def _short(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 40 else line[:37] + "..."


SHELL_SYNTAX = re.compile(r"[|&;<>()$`\n]|^\s*[A-Za-z_]\w*=")
