"""An environment variable holds a secret in plain text.

## What it does
Reports a variable whose name says that it is a credential (`HF_TOKEN`, `DB_PASSWORD`,
`AWS_SECRET_ACCESS_KEY`) and whose value is a text: in `env` of a job, of its sidecars and init
containers, of a team, an image or a cluster, in `pod:`, and in a base. A reference such as
`$(OTHER)`, a path, an address and words such as `none` are no secrets. The value is never printed.

## Why it is bad
The value is in git for good, in the object, in every dump and log of it, and with everybody who may
read one of them. It cannot be changed without changing the job, and it outlives the job.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env: {WANDB_API_KEY: not-for-git-4711}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
secrets: {WANDB_API_KEY: wandb/api-key}
```

## References
- CWE-798
- kubernetes.io: concepts/security/secrets-good-practices
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.security.leaks import leaks
from compiler.site import Site

RULE = Rule(
    code="SEC902",
    severity=Severity.ERROR,
    stage="run",
    sources=("CWE-798", "kubernetes.io: concepts/security/secrets-good-practices"),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The variables that hold a credential."""
    for leak in leaks(run, site, "variable"):
        yield leak.report(
            f"`{leak.name}` holds a {leak.what} in plain text",
            f"put it into a Secret and write secrets: {{{leak.name}: <Secret>/<key>}}; "
            f"this {leak.what} has been in a file, so have a new one issued",
        )
