"""A mount hides the code of the image.

## What it does
Reports mounts of the job, its checkpoints and of `pod:` at or above the folder from which a
container starts what its image brings: `workdir` of image.yaml with the image's own entry, or a
script of `images/<name>/` that the command names. A single file that is put in the place of
another (`files`) is left alone, and so is a command that starts what the image does not have.

## Why it is bad
A volume covers what the image has at its path. The container starts in a folder without its
program, and each node says \"can't open file\" after the queue and the pull; or it runs another
file of the same name, which no lock and no history knows.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
mounts: {/app: {claim: models, read_only: true}}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
mounts: {/models: {claim: models, read_only: true}}
```

## References
- kubernetes/kubernetes#52026
- kubernetes/kubernetes#13914
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import join

from compiler.containers import MAIN, passed
from compiler.diagnostics import Place, Severity
from compiler.imagefiles import image_files
from compiler.launch import launches
from compiler.model import Member, Run
from compiler.programs import Container, containers
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.volumes import Mounted, mounted, normal, within

RULE = Rule(
    code="STO716",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubernetes/kubernetes#52026", "kubernetes/kubernetes#13914"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The mounts above what a container starts of its image."""
    for member in run.members:
        # Of the root mount-over-system-path tells.
        items = [i for i in mounted(run, member) if i.path not in ("", "/") and i.by != "files"]
        if not items:
            continue
        images = {one.name: one.image.name for one in (*member.sidecars, *member.init)}
        for container in containers(run, member, site):
            main = container.kind == "training"
            about = site.images.get(
                (member.image.name if main else images.get(container.name)) or ""
            )
            if about is None:
                continue
            name = MAIN if main else container.name
            workdir = about.value.workdir
            needed = _needed(run, member, container, site, about.name, workdir)
            for path, what in needed.items():
                around = [i for i in items if i.container == name and _hides(i, path, workdir)]
                for item in around[:1]:
                    yield _report(item, what, about.place("workdir" if workdir else "entry"))
                if around:
                    break


def _needed(
    run: Run, member: Member, container: Container, site: Site, image: str, workdir: str | None
) -> dict[str, str]:
    """The paths in the image that a container starts from, and what is there."""
    own = _own(run, member, container)
    home = normal(workdir) if workdir is not None else None
    last = {home: f"the image `{image}` has its files there"} if own and home else {}
    found: dict[str, str] = {}
    if container.kind != "training" or any(
        "workingDir" in node for _, node in passed(run, member, "spec", "containers")
    ):
        return last
    start = member.working_dir or home or "/"
    files = image_files(site.root, image) if home is not None else frozenset[str]()
    for launch in launches(container):
        if launch.target is None or "$" in launch.target.text:
            continue
        word = launch.target.text
        names = [join(start, word)]
        if launch.module:
            names = [join(start, word.replace(".", "/") + end) for end in (".py", "/__main__.py")]
        for path in map(normal, names):
            inside = home is not None and within(path, home)
            there = inside and path[len((home or "").rstrip("/")) + 1 :] in files
            if there or (own and not launch.module and word.startswith("/")):
                found[path] = f"the image `{image}` has {path}, which the run starts"
    return found | last


def _own(run: Run, member: Member, container: Container) -> bool:
    """Whether a container starts the command of its image."""
    if container.command is None:
        return True
    node = run.origins.node(run.routes(member, "command"))
    passed_on = any("pod" in word.route[:2] for word in container.command)
    of_image = node is None or node.path.startswith("images/")
    return container.kind == "training" and of_image and not passed_on


def _hides(item: Mounted, path: str, workdir: str | None) -> bool:
    # A file that is mounted in the very place of a script stands for it.
    same = item.path == path and workdir is not None and path == normal(workdir)
    return same or within(path, item.path)


def _report(item: Mounted, what: str, place: Place) -> Report:
    route = ("checkpoint", "path") if item.by == "checkpoint" else item.route
    message = f"the mount at {item.path} hides the image's code: {what}"
    remedy = "mount it at a path of its own, such as /data"
    return Report(
        route, message, remedy, ((place, "where the image says so"),), key=item.by == "mounts"
    )
