"""Two files declare the same job.

## What it does
Reports a job whose team and name another file has too: `jobs/<job>.yaml` with `team:` beside
`jobs/<team>/<job>.yaml`, or `.yaml` beside `.yml`.

## Why it is bad
A job is known by its team and its name, and both files would be the same job. Which of them is
meant, only their authors know; kustomize refuses two objects of one name.

## Example
```sh
cp jobs/llm-sft.yaml jobs/nlp/llm-sft.yaml
```

## Use instead
```sh
cp jobs/llm-sft.yaml jobs/nlp/llm-sft-long.yaml
```

## References
- kubernetes/test-infra: config/tests/jobs
- kubernetes-sigs/kustomize: api/resmap/reswrangler.go
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Place, Related, Severity
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.project import Project

RULE = Rule(
    code="NAM302",
    severity=Severity.ERROR,
    stage="repository",
    sources=(
        "kubernetes/test-infra: config/tests/jobs",
        "kubernetes-sigs/kustomize: api/resmap/reswrangler.go",
    ),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The further files of a job that has several."""
    files: dict[tuple[str, str], list[Judged]] = {}
    for job in jobs:
        name = job.path.rpartition("/")[2].rpartition(".")[0]
        files.setdefault((job.team or job.path.rpartition("/")[0], name), []).append(job)
    for (_, name), same in files.items():
        other = same[0]
        for job in same[1:]:
            yield finding(
                "job-in-two-files",
                Place.start(job.path),
                f"the job {name} of {job.team or 'this folder'} is declared in {other.path} too",
                "delete one of the two files, or give one another name",
                [Related(Place.start(other.path), "the other file")],
            )
