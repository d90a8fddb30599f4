"""A command, an argument or another text holds a secret.

## What it does
Reports credentials in every text of a run: those that are known by their form (access tokens of
GitHub, GitLab, Hugging Face, AWS, Slack and others, private keys, JSON web tokens, passwords in
addresses), wherever they stand, and those that a command is given by name (`--api-key=...`,
`export API_KEY=...`). What is looked at is the job with all its defaults, `pod:`, and the base. The
secret is never printed.

## Why it is bad
The text is in git for good, in the object, and in the list of processes of every node that runs it,
where monitoring picks it up.

## Example
```yaml
team: nlp
image: vit
command: [torchrun, -m, vit.pretrain]
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
args: [--tracker-password=not-for-git]
```

## Use instead
```yaml
team: nlp
image: vit
command: [torchrun, -m, vit.pretrain]
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
secrets: {TRACKER_PASSWORD: wandb/password}
args: [--tracker-password=$(TRACKER_PASSWORD)]
```

## References
- CWE-798
- CWE-214
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.security.leaks import leaks
from compiler.site import Site

RULE = Rule(
    code="SEC903",
    severity=Severity.ERROR,
    stage="run",
    sources=("CWE-798", "CWE-214"),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The texts that hold a credential."""
    for leak in leaks(run, site, "text"):
        what = f"the {leak.what} for `{leak.name}`" if leak.name else leak.article
        yield leak.report(
            f"{what} stands here in plain text",
            "put it into a Secret, write secrets: {NAME: <Secret>/<key>}, and $(NAME) here; "
            "it has been in a file, so have a new one issued",
        )
