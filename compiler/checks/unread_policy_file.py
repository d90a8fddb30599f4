"""A file of policy is read by nobody.

## What it does
Reports YAML files under `policy/` and `images/` that stand where no file is looked for, a second
file of the same cluster, team, waiver or stop (`nlp.yaml` beside `nlp.yml`), and what stands in the
place of such a file or folder and is none: a link to nothing, a pipe.

## Why it is bad
What such a file says does not hold, and nothing else would tell: a rule that was raised stays as it
was, a stop stops nothing, a cap is not a cap.

## Example
```yaml
# policy/team/audio.yaml
namespace: p-audio
owners: [example-org/audio]
clusters: [west]
```

## Use instead
```yaml
# policy/teams/audio.yaml
namespace: p-audio
owners: [example-org/audio]
clusters: [west]
```

## References
- Netcentric/accesscontroltool#150
- crowdsecurity/hub#661
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Place, Related, Severity
from compiler.rules import Rule, finding
from compiler.suggestions import nearest

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.project import Project

RULE = Rule(
    code="DEC235",
    severity=Severity.ERROR,
    stage="repository",
    sources=("Netcentric/accesscontroltool#150", "crowdsecurity/hub#661"),
)
FOLDERS = ("clusters", "teams", "waivers", "stops", "tests")
SUFFIXES = (".yaml", ".yml")


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The files of policy that are not read, and those that another one hides."""
    policy = project.policy
    read = {*policy.sources, *policy.broken}
    first: dict[str, str] = {}
    for path in sorted(project.repository.surroundings):
        if not path.startswith(("policy/", "images/")) or not path.lower().endswith(SUFFIXES):
            continue
        if path not in read:
            yield finding(
                "unread-policy-file", Place.start(path), f"{path} is not read", _help(path)
            )
            continue
        earlier = first.setdefault(path.rpartition(".")[0], path)
        if earlier != path:
            yield finding(
                "unread-policy-file",
                Place.start(path),
                f"{earlier} and {path} have the same name, and only one of the two holds",
                "keep one of the two",
                [Related(Place.start(earlier), "the other one")],
            )


def _help(path: str) -> str:
    top, *folders, name = path.split("/")
    stem = name.rpartition(".")[0]
    if top == "images":
        wanted = "image" if folders else "lock"
        called = stem.lower() == wanted
        return f"call it {wanted}.yaml" if called else f"move it to images/{stem}/image.yaml"
    if not folders and stem == "rules":
        return "call it policy/rules.yaml"
    if folders and folders[0] in FOLDERS and not name.endswith(SUFFIXES):
        return f"call it {stem}.yaml"
    near = nearest(folders[0], FOLDERS) if folders else None
    if near is not None:
        return f"move it to policy/{near}/{name}"
    return "move it to one of: " + ", ".join(f"policy/{folder}/" for folder in FOLDERS)
