"""The checkpoints are written to no volume that outlives the pod.

## What it does
Reports `checkpoint.path` without `claim:` where nothing that lasts is mounted there: no claim under
`mounts:`, no volume of `pod:` or of the base, or only one that goes with the pod (`emptyDir` and
the like). It asks where checkpoints are read again: by an image that `needs` them, with `retry:`,
and in an elastic run.

## Why it is bad
The files go to the container's own disk. When the pod ends they are gone, so that each retry and
each later run of the job begins from nothing, and nobody is told.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- EveryVoiceTTS/EveryVoice#183
- facebookresearch/pytext#1046
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compiler.containers import MAIN
from compiler.diagnostics import Severity
from compiler.model import Member, Run
from compiler.nodes import Mapping
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.volumes import Mounted, mounted, normal, within

RULE = Rule(
    code="STO723",
    severity=Severity.ERROR,
    stage="run",
    sources=("EveryVoiceTTS/EveryVoice#183", "facebookresearch/pytext#1046"),
)
# The volumes of `pod:` that are made with the pod and go with it, or that nobody can write to.
FLEETING = frozenset(
    {"configMap", "downwardAPI", "emptyDir", "ephemeral", "image", "projected", "secret"}
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The checkpoints that are lost with their pod."""
    if run.checkpoint is None or run.checkpoint.claim is not None:
        return
    why = _read_again(run, site)
    if why is None:
        return
    path = normal(run.checkpoint.path)
    for member in run.members:
        holder = _holder(run, member, path)
        # A mount of the job's own that cannot keep them is the affair of overlapping-mounts.
        if holder is None:
            if _elsewhere(path, member.pod, site.base.object if site.base is not None else None):
                continue
            message = f"no volume is mounted at {path}, so the checkpoints go with the pod: {why}"
        elif holder.by == "pod" and (kind := _fleeting(run, holder)) is not None:
            message = f"the checkpoints at {path} are lost with the pod's `{kind}`: {why}"
        else:
            continue
        related = ((holder.route, "the mount"),) if holder is not None else ()
        yield Report(("checkpoint", "path"), message, _remedy(site), related)
        return


def _read_again(run: Run, site: Site) -> str | None:
    """Who would look for the checkpoints; None where nobody says so."""
    about = site.images.get(run.others.image.name or "")
    if run.retries:
        return "a retry begins from nothing"
    if run.elastic is not None:
        return "a new node finds none of them"
    if about is not None and "checkpoint" in (about.value.needs or ()):
        return f"the image `{about.name}` needs them"
    return None


def _holder(run: Run, member: Member, path: str) -> Mounted | None:
    """The innermost mount of the training container that the path is in."""
    around = [
        item
        for item in mounted(run, member)
        if item.container == MAIN and item.path and (item.path == path or within(path, item.path))
    ]
    return max(around, key=lambda item: len(item.path), default=None)


def _fleeting(run: Run, item: Mounted) -> str | None:
    """The field of a volume of `pod:` that goes with the pod; None for one that stays."""
    node = run.origins.node(item.source_route)
    return next((k for k in node if k in FLEETING), None) if isinstance(node, Mapping) else None


def _elsewhere(path: str, *data: Any) -> bool:
    """Whether a base, or a mount of `pod:` of a base's volume, has something at or above a path."""
    paths = [normal(one) for part in data for one in _mount_paths(part)]
    return any(path == one or within(path, one) for one in paths)


def _mount_paths(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        for key, value in data.items():  # type: ignore[reportUnknownVariableType]
            if key == "mountPath":
                yield str(value)  # type: ignore[reportUnknownArgumentType]
            else:
                yield from _mount_paths(value)
    elif isinstance(data, list):
        for item in data:  # type: ignore[reportUnknownVariableType]
            yield from _mount_paths(item)


def _remedy(site: Site) -> str:
    allowed = site.team.value.claims
    for name, claim in (site.cluster.value.claims or {}).items():
        shared = not claim.read_only and claim.access == "ReadWriteMany"
        if shared and (allowed is None or name in allowed):
            return f"add `claim: {name}` to the checkpoint"
    return "add `claim:` to the checkpoint, with a claim that can be written"
