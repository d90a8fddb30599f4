"""An image has no shell and leaves the guard to one.

## What it does
Reports an `image.yaml` that says both `guard: shell` and `shell: false`.

## Why it is bad
The compiler's guard is a shell script around the command. Without a shell it is left out, and
nothing in the pods keeps a finished training from running again, although the file says so.

## Example
```sh
sed -i 's/^guard: .*/guard: shell/' images/pretrain/image.yaml
echo 'shell: false' >> images/pretrain/image.yaml
```

## Use instead
```sh
echo 'shell: false' >> images/pretrain/image.yaml
```

## References
- gcr.io/distroless: images without a shell
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Related, Severity
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.memory import Judged
    from compiler.project import Project

RULE = Rule(
    code="OPS846",
    severity=Severity.ERROR,
    stage="repository",
    sources=("gcr.io/distroless: images without a shell",),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The images whose guard cannot run."""
    for image in project.policy.images.values():
        if image.value.guard == "shell" and image.value.shell is False:
            yield finding(
                "guard-without-shell",
                image.place("guard"),
                "the shell's guard needs a shell, and the image has none",
                "write `guard: native` where its own code keeps the promises of docs/guard.md,"
                " else `guard: none`",
                [Related(image.place("shell"), "no shell")],
            )
