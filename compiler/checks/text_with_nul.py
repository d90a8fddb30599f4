"""A text has a NUL character in it, with which no program can be started.

## What it does
Reports the character U+0000, written as `"\\0"` or `"\\x00"`, in any text that reaches the objects:
variables, commands, arguments, paths, and what is under `pod:`. Files of `files:` may have it.

## Why it is bad
Arguments and variables end at the first NUL, in Linux as in C: the container runtime refuses to
start a container that has one. The API server takes it without a word.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env: {SEPARATOR: "\\0"}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env: {SEPARATOR: "\\\\0"}
```

## References
- torvalds/linux: fs/exec.c, copy_strings
- golang/go: src/syscall/exec_unix.go, SlicePtrFromStrings
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.nodes import Mapping, Scalar, walk
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.wording import texts

RULE = Rule(
    code="LCH539",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "torvalds/linux: fs/exec.c, copy_strings",
        "golang/go: src/syscall/exec_unix.go, SlicePtrFromStrings",
    ),
)
# These tell people something, and reach no object.
_APART = frozenset({"description", "owner", "contact", "waive"})
_MESSAGE = "the text has the character U+0000, with which no program can be started"
_HELP = (
    r"take it out; where the program itself reads `\0` in its argument, write it in single quotes"
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The texts that have one, keys included."""
    for start, root in (((), run.origins.effective), (("master",), run.origins.master)):
        # One look at all text tells that all is well, as it nearly always is.
        if root is None or "\0" not in "\n".join(texts(root)):
            continue
        for route, node in walk(root):
            if route and route[0] in _APART:
                continue
            if isinstance(node, Scalar) and "\0" in node:
                yield Report((*start, *route), _MESSAGE, _HELP)
            elif isinstance(node, Mapping):
                for key in node:
                    if "\0" in key:
                        yield Report((*start, *route, str(key)), _MESSAGE, _HELP, key=True)
