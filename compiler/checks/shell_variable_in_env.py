"""A variable's text names another one as a shell would.

## What it does
Reports `$NAME` and `${NAME}` in the variables of every container. Lower-case `${name}` is left
alone, for configuration libraries read it, and so is `$$`. A variable that extends the image's own
of the same name is the affair of LCH525.

## Why it is bad
No shell reads `env`: Kubernetes expands `$(NAME)` only, and only what the container's own list
has. The program gets the letters, and makes a folder that is called `$HOME`.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env: {HF_HOME: $HOME/hf}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env: {HF_HOME: /ckpt/hf}
```

## References
- kubernetes/kubernetes#57726
- kubernetes/website#8907
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.environment import identity_names
from compiler.model import Run
from compiler.programs import every_container
from compiler.rules import Report, Rule
from compiler.shell import UNEXPANDED
from compiler.site import Site

RULE = Rule(
    code="LCH537",
    severity=Severity.WARNING,
    stage="run",
    sources=("kubernetes/kubernetes#57726", "kubernetes/website#8907"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The variables whose text only a shell would expand."""
    for _, container in every_container(run, site):
        known = {setting.name for setting in container.env}
        if container.kind == "training":
            known |= set(identity_names(run))
        for setting in container.env:
            matches = list(UNEXPANDED.finditer(setting.value or ""))
            names = [match["bare"] or match["braced"] for match in matches]
            if not matches or setting.name in names:
                continue
            remedy = (
                f"write $({names[0]}), which Kubernetes expands"
                if names[0] in known and not matches[0]["rest"]
                else "write the whole value, or $$ for the sign itself"
            )
            yield Report(
                setting.route,
                f"`{matches[0][0]}` stays these letters: no shell reads the values of env",
                remedy,
            )
