"""Two things are mounted at one path, or the checkpoints lie on another volume.

## What it does
Reports a path that `mounts`, `files`, `checkpoint` and `pod:` fill twice (`/data` and `/data/`
are one path), and a checkpoint path at or under another claim's mount, or on a volume that cannot
be written or is gone with the pod.

## Why it is bad
The API server refuses an object in which two mounts of a container have the same path, and with it
a syncer applies nothing of the folder. `/data` and `/data/` it takes for two, and one of them hides
the other. Checkpoints under another mount end up on the wrong volume, or nowhere.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
mounts: {/ckpt: {claim: logs}}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
mounts: {/logs: {claim: logs}}
```

## References
- kubernetes/kubernetes#23176
- bluek8s/kubedirector#555
- rook/rook#3139
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Member, Run
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.volumes import Mounted, mounted, normal, within

RULE = Rule(
    code="STO713",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubernetes/kubernetes#23176", "bluek8s/kubedirector#555", "rook/rook#3139"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The paths that are taken, and checkpoints on the wrong volume."""
    for member in run.members:
        items = [item for item in mounted(run, member) if item.path]
        yield from _same_path(items)
        yield from _checkpoint(run, member, items)


def _same_path(items: list[Mounted]) -> Iterator[Report]:
    first: dict[tuple[str, str], Mounted] = {}
    for item in items:
        earlier = first.setdefault((item.container, item.path), item)
        if earlier is item:
            continue
        if earlier.by == "mounts" and item.by == "checkpoint":
            yield Report(
                ("checkpoint", "path"),
                f"checkpoints go to the claim `{item.source}` at {item.path},"
                f" where {_what(earlier)} is mounted",
                "give them a path of their own, such as /checkpoints",
                ((earlier.route, "the other mount"),),
            )
        else:
            yield Report(
                item.route,
                f"{item.path} is taken: {_what(earlier)} is there already",
                "mount one of the two at another path",
                ((earlier.route, "the other one"),),
                key=item.by in ("mounts", "files"),
            )


def _checkpoint(run: Run, member: Member, items: list[Mounted]) -> Iterator[Report]:
    checkpoint = run.checkpoint
    if checkpoint is None:
        return
    path = normal(checkpoint.path)
    # Of a mount at the root mount-over-system-path tells.
    around = [
        i for i in items if i.by in ("mounts", "pod") and i.container == "pytorch" and i.path != "/"
    ]
    under = [
        i for i in around if within(path, i.path) or (checkpoint.claim is None and i.path == path)
    ]
    holder = max(under, key=lambda i: len(i.path), default=None)
    if holder is None:
        return
    related = ((holder.route, "the mount"),)
    if checkpoint.claim is not None:
        # The claim has a mount of its own at the path, inside the other one.
        if (holder.kind, holder.source) != ("claim", checkpoint.claim):
            yield Report(
                ("checkpoint", "path"),
                f"the checkpoints' path {path} is inside {holder.path}, where {_what(holder)}"
                " is mounted",
                "give them a path of their own, such as /checkpoints",
                related,
            )
    elif holder.kind != "claim" and holder.kind != "other":
        yield Report(
            ("checkpoint", "path"),
            f"checkpoints at {path} would be written to {_what(holder)}, which cannot keep them",
            "add `claim:` to the checkpoint, with a claim that can be written",
            related,
        )
    elif holder.read_only:
        yield Report(
            ("checkpoint", "path"),
            f"checkpoints cannot be written at {path}: {_what(holder)} is mounted read-only there",
            "add `claim:` to the checkpoint, with a claim that can be written",
            related,
        )


def _what(item: Mounted) -> str:
    return {
        "claim": f"the claim `{item.source}`",
        "config_map": f"the ConfigMap `{item.source}`",
        "secret": f"the Secret `{item.source}`",
        "file": f"the file `{item.source}`",
        "scratch": "scratch space",
    }.get(item.kind, f"the volume `{item.source}` of `pod:`")
