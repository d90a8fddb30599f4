"""A long run is retried, and begins from nothing each time.

## What it does
Reports `retry: {max: ...}` of a run that may take more than four hours, has no `checkpoint:`, and
nowhere to keep one: no claim or other volume mounted for writing, and no address of an object
store in its words or variables.

## Why it is bad
All tries share `max_duration`. One that fails after eleven of twelve hours leaves an hour to the
next, which begins from nothing: the run is paid for whole, and learns nothing. It needs a stretch
without failure that is as long as all of it.

## Example
```yaml
team: nlp
image: ddp-mini
accelerators: H100:8
queue: research
max_duration: 24h
retry: {max: 5}
```

## Use instead
```yaml
team: nlp
image: ddp-mini
accelerators: H100:8
queue: research
max_duration: 24h
retry: {max: 5}
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m}
```

## References
- EveryVoiceTTS/EveryVoice#183
- facebookresearch/pytext#1046
"""

import re
from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.programs import every_container
from compiler.quantity import duration_text
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.volumes import mounted

RULE = Rule(
    code="STO722",
    severity=Severity.WARNING,
    stage="run",
    sources=("EveryVoiceTTS/EveryVoice#183", "facebookresearch/pytext#1046"),
)

# What is lost by one start from nothing; below this it is not worth a word.
LONG = 4 * 3600
# Stores outside of the cluster, by their address or by what gives access to them.
REMOTE = re.compile(r"\b(?:s3|s3a|gs|gcs|az|abfss?|hdfs|oss|r2|wasbs?|swift|hf)://")
ACCESS = ("AWS_", "GOOGLE_", "AZURE_", "S3_", "GCS_", "MINIO_", "OSS_")


def check(run: Run, site: Site) -> Iterator[Report]:
    """The retries that start from nothing."""
    if run.retries < 1 or run.checkpoint is not None:
        return
    if run.max_duration is None or run.max_duration <= LONG or _keeps(run, site):
        return
    tries = run.retries + 1
    yield Report(
        ("retry", "max") if run.origins.set(("retry", "max")) else ("max_duration",),
        f"no checkpoint, so each of up to {tries} tries begins from nothing, and all share "
        f"{duration_text(run.max_duration)}",
        "add `checkpoint: {claim: ..., path: ...}`, or write retry: {max: 0}",
        ((("max_duration",), "how long all tries together may take"),)
        if run.origins.set(("retry", "max"))
        else (),
    )


def _keeps(run: Run, site: Site) -> bool:
    """Whether something that the run can write to outlives its pods."""
    for member in run.members:
        for item in mounted(run, member):
            if item.kind in ("claim", "other") and not item.read_only:
                return True
    for _, container in every_container(run, site):
        if container.open or any(s.name.startswith(ACCESS) for s in container.env):
            return True
        texts = [word.text for word in container.words]
        texts += [setting.value for setting in container.env if setting.value is not None]
        if any(REMOTE.search(text) for text in texts):
            return True
    return False
