"""A variable or a word of a command is longer than Linux passes to a program.

## What it does
Reports a word of command or args, and a variable with its name, of 128 KiB or more.

## Why it is bad
`execve` takes no single text of more than 131071 bytes (MAX_ARG_STRLEN). The container does not
start, and says \"argument list too long\".

## Example
```sh
cat > jobs/nlp/big.yaml <<END
image: ddp-mini
accelerators: H100:8
queue: research
max_duration: 1h
env: {A: $(head -c 140000 /dev/zero | tr '\\0' x)}
END
```

## Use instead
```sh
cat > jobs/nlp/big.yaml <<END
image: ddp-mini
accelerators: H100:8
queue: research
max_duration: 1h
env: {A: $(head -c 1400 /dev/zero | tr '\\0' x)}
END
```

## References
- hashicorp/vault-k8s#197
- argoproj/argo-workflows#15471
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Place, Severity
from compiler.model import Route, Run
from compiler.programs import every_container
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH538",
    severity=Severity.ERROR,
    stage="run",
    sources=("hashicorp/vault-k8s#197", "argoproj/argo-workflows#15471"),
)
# Bytes of one text with the zero behind it (Linux, include/uapi/linux/binfmts.h).
MOST = 32 * 4096


def check(run: Run, site: Site) -> Iterator[Report]:
    """The texts that no program can be started with."""
    for _, container in every_container(run, site):
        for word in container.words:
            if (size := len(word.text.encode()) + 1) > MOST:
                yield _report(word.route, "this word", size, word.place)
        for setting in container.env:
            size = len(f"{setting.name}={setting.value or ''}".encode()) + 1
            if size > MOST:
                yield _report(setting.route, f"the variable `{setting.name}`", size)


def _report(route: Route, what: str, size: int, place: Place | None = None) -> Report:
    message = f"{what} has {size - 1} bytes; Linux starts no program with more than {MOST - 1}"
    remedy = "put the text into a file, and mount it with `files:`"
    return Report(route, message, remedy, place=place)
