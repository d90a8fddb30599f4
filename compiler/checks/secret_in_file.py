"""A file that a job mounts holds a secret.

## What it does
Reports credentials in the files under `files:`: those that are known by their form, and values that
are given to names such as `api_key` and look like a credential. The secret is never printed.

## Why it is bad
The file is in git for good, and the ConfigMap that it becomes can be read by everybody who may read
ConfigMaps of the namespace.

## Example
```yaml
# configs/tracker.ini
[server]
password = "not-for-git"
```

```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
files: {/etc/train/tracker.ini: configs/tracker.ini}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
mounts: {/etc/tracker: {secret: wandb}}
```

## References
- CWE-798
- kubernetes.io: concepts/configuration/configmap
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.security.leaks import leaks
from compiler.site import Site

RULE = Rule(
    code="SEC904",
    severity=Severity.ERROR,
    stage="run",
    sources=("CWE-798", "kubernetes.io: concepts/configuration/configmap"),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The credentials in mounted files."""
    for leak in leaks(run, site, "file"):
        what = f"the {leak.what} for `{leak.name}`" if leak.name else leak.article
        yield leak.report(
            f"{what} is in a file that becomes a ConfigMap",
            "put it into a Secret and mount that: mounts: {/etc/keys: {secret: <Secret>}}; "
            "it has been in a file, so have a new one issued",
        )
