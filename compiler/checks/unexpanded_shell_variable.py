"""A shell variable stands where no shell runs.

## What it does
Reports `$NAME`, `${NAME}` and `$(command with words)` in command and args of every container,
where they are not within the script of `bash -c`, and variables whose text refers to the image's
own value of the same name (`PATH: /opt/bin:$PATH`). Lower-case `${name}` is left alone, for
configuration libraries read it; so is `$$`.

## Why it is bad
Kubernetes starts programs without a shell, and expands `$(NAME)` only. The program gets the
letters: torchrun says `invalid int value: '$RANK'`, others take them for a file's name.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
command: [torchrun, train.py]
args: [--data=/data/$RUN_NAME]
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
args: [--data=/data/$(RUN_NAME)]
```

## References
- meta-pytorch/torchx#759
- kubernetes/website#8907
- kubernetes/kubernetes#31686
"""

import re
from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.environment import added, identity_names, reaches
from compiler.launch import scripts
from compiler.model import Run
from compiler.programs import every_container
from compiler.rules import Report, Rule
from compiler.shell import UNEXPANDED
from compiler.site import Site

RULE = Rule(
    code="LCH525",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "meta-pytorch/torchx#759",
        "kubernetes/website#8907",
        "kubernetes/kubernetes#31686",
    ),
)

SUBSTITUTION = re.compile(r"(?<!\$)\$\([^()\s$]+\s[^()]*\)")


def check(run: Run, site: Site) -> Iterator[Report]:
    """The words that only a shell would expand, and the variables that extend the image's."""
    for _, container in every_container(run, site):
        if not container.holds("$"):
            continue
        known = {setting.name for setting in container.env}
        if container.kind == "training":
            known |= identity_names(run)
        if reaches(site.backend, container.kind):
            known |= set(added(run, site.backend))
        inside = scripts(container)
        for index, word in enumerate(container.words):
            if "$" not in word.text or index in inside:
                continue
            if container.command is None and any(letter.isspace() for letter in word.text):
                # It may be the script of an entrypoint that is a shell.
                continue
            match = UNEXPANDED.search(word.text) or SUBSTITUTION.search(word.text)
            if match is not None:
                yield Report(
                    word.route,
                    f"`{match[0]}` reaches the program as these letters: no shell runs here",
                    _remedy(match, known),
                    related=word.related,
                    place=word.place,
                )
        for setting in container.env:
            for match in UNEXPANDED.finditer(setting.value or ""):
                if setting.name in (match["bare"], match["braced"]):
                    yield Report(
                        setting.route,
                        f"`{match[0]}` stays these letters: Kubernetes does not know the image's "
                        f"own `{setting.name}`",
                        "write the whole value, or extend it in a shell: "
                        f'[bash, -c, "export {setting.name}=...:${setting.name}; exec ..."]',
                    )
                    break


def _remedy(match: re.Match[str], known: set[str]) -> str:
    groups = match.groupdict()
    name = groups.get("bare") or groups.get("braced")
    if name in known and not groups.get("rest"):
        return f"write $({name}), which Kubernetes expands"
    return 'let a shell run the command: [bash, -c, "exec ..."]; or write $$ for the sign itself'
