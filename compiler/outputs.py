"""What a run shares with other runs through its claims: folders that it writes, and whole volumes.

Only what is certain is listed. A folder is one that an argument or a variable names as the place of
the results, below a claim that is mounted for writing; a program may well write elsewhere too. The
checkpoint folder that the compiler gives a run is its lineage's own, and so is not listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from compiler.containers import MAIN
from compiler.diagnostics import Place
from compiler.expansion import expanded, of_environment
from compiler.launch import launches
from compiler.model import Member, Route, Run
from compiler.programs import training
from compiler.scriptargs import last
from compiler.site import Site
from compiler.volumes import Mounted, catalogued, mounted, normal, within

# What programs call the folder of their results. Not `log_dir`, which most of them only begin with,
# and not `checkpoint_dir`, which as many of them read from.
_NAMES = frozenset(
    {
        "output_dir",
        "output_path",
        "out_dir",
        "outdir",
        "save",
        "save_dir",
        "save_path",
        "result_dir",
        "results_dir",
        "work_dir",
        "explicit_log_dir",
        "dump_folder",
    }
)
# A part of each of them: words without any need not be taken apart.
_TELLING = re.compile(r"out|save|result|work|explicit|dump")
_VARIABLES = frozenset({"OUTPUT_DIR", "SAVE_DIR", "RESULTS_DIR"})


def written(run: Run, site: Site) -> dict[str, Place]:
    """The folders that a run says it writes to, each as claim and path within it.

    With each the place where the declaration says so.
    """
    found: dict[str, Place] = {}
    for member in run.members:
        mounts = [m for m in mounted(run, member) if m.container == MAIN and m.path]
        for path, where in _named(run, member, site):
            if path.startswith("/") and (folder := _behind(normal(path), mounts)) is not None:
                place = where if isinstance(where, Place) else run.origins.place(where)
                found.setdefault(folder, place)
    return found


def held(run: Run, site: Site) -> dict[str, Place]:
    """The claims of the run that one node, or one pod, can mount at a time, with their places."""
    return {
        item.source: run.origins.place(item.source_route)
        for _, item, claim in catalogued(run, site)
        if claim.access in ("ReadWriteOnce", "ReadWriteOncePod")
    }


def _named(run: Run, member: Member, site: Site) -> Iterator[tuple[str, Route | Place]]:
    container = training(run, member, site)
    told = any(_TELLING.search(word.text) for word in container.words)
    for launch in launches(container) if told else ():
        for (_, name), setting in last(launch).items():
            if name in _NAMES and setting.value:
                yield setting.value, setting.word.place or setting.word.route
    known = of_environment(container)
    for setting in container.env:
        if setting.name in _VARIABLES and setting.value:
            value = expanded(setting.value, known)
            if value:
                yield value, setting.route


def _behind(path: str, mounts: list[Mounted]) -> str | None:
    """The claim and the path in it that a path of the container stands for; None if none does."""
    above = [m for m in mounts if m.path == path or within(path, m.path)]
    if not above:
        return None
    mount = max(above, key=lambda m: len(m.path))
    if mount.kind != "claim" or mount.read_only or "$" in mount.sub_path:
        return None
    inside = path[len(mount.path.rstrip("/")) :].strip("/")
    return "/".join(part for part in (mount.source, mount.sub_path.strip("/"), inside) if part)
