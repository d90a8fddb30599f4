"""Two names differ only in case or in their Unicode form.

## What it does
Compares the names of jobs within a folder and within a team, of folders under `jobs/`, and of
files under `policy/`, as a file system without case sees them.

## Why it is bad
A checkout on macOS or Windows has only one of the two files, and says that the other is modified
or gone. A commit from there then deletes or mixes them.

## Example
```sh
cp policy/clusters/west.yaml policy/clusters/West.yaml
```

## Use instead
```sh
cp policy/clusters/west.yaml policy/clusters/west-2.yaml
```

## References
- libgit2/libgit2#2254
- open-mpi/hwloc#441
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Place, Related, Severity
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.project import Project

RULE = Rule(
    code="NAM303",
    severity=Severity.ERROR,
    stage="repository",
    sources=("libgit2/libgit2#2254", "open-mpi/hwloc#441"),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The names that only differ in case or Unicode form."""
    paths = [job.path for job in jobs]
    policy = [path for path in project.policy.sources if path.startswith("policy/")]
    reported: set[str] = set()
    # Within a folder: the path as a whole; a folder that is alike is told at its first file.
    for group in (paths, policy):
        known: dict[str, str] = {}
        folders: set[str] = set()
        for path in group:
            for part, whole in _parts(path):
                earlier = known.setdefault(_folded(part), part)
                if earlier == part or part in folders:
                    continue
                folders.add(part)
                reported.add(path)
                yield _report(path, part, earlier, earlier if whole else _inside(group, earlier))
                break
    # Within a team: the same name in another folder.
    named: dict[tuple[str, str], Judged] = {}
    for job in jobs:
        if not job.team:
            continue
        earlier_job = named.setdefault((job.team, _folded(_name(job.path))), job)
        if _name(earlier_job.path) != _name(job.path) and job.path not in reported:
            yield _report(job.path, _name(job.path), _name(earlier_job.path), earlier_job.path)


def _report(path: str, name: str, earlier: str, other: str) -> Finding:
    return finding(
        "names-alike",
        Place.start(path),
        f"{ascii(name)[1:-1]} and {ascii(earlier)[1:-1]} differ only in case or Unicode form",
        "rename one of the two",
        [Related(Place.start(other), "the other one")],
    )


def _parts(path: str) -> Iterator[tuple[str, bool]]:
    steps = path.split("/")
    for end in range(2, len(steps) + 1):
        yield "/".join(steps[:end]), end == len(steps)


def _inside(paths: Sequence[str], folder: str) -> str:
    return next(path for path in paths if path.startswith(folder + "/"))


def _name(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _folded(name: str) -> str:
    """A name as a file system without case, or with another Unicode form, sees it."""
    return unicodedata.normalize("NFKC", name).casefold()
