"""A run is to be adopted, and there is no job for it.

## What it does
Reports a file `policy/adopted/<team>/<job>.yaml` whose job is not declared, or is not declared for
the cluster that the run is on.

## Why it is bad
The run is not taken in: nothing watches it, counts it or stops it. And where the job has only
another name than the file says, its first run starts beside the one that trains already.

## Example
```yaml
# policy/adopted/nlp/llm-stf.yaml
cluster: west
object: {apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: llm-old}}
```

## Use instead
```yaml
# policy/adopted/nlp/llm-sft.yaml
cluster: west
object: {apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: llm-old}}
```

## References
- argoproj/argo-cd: docs/user-guide/resource_tracking.md
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
    code="OPS859",
    severity=Severity.ERROR,
    stage="repository",
    sources=("argoproj/argo-cd: docs/user-guide/resource_tracking.md",),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The files of runs that no job would take in."""
    by_name = {f"{job.team}/{job.job}": job for job in jobs if job.team}
    # A file whose team cannot be told may be anybody's.
    unknown = {job.path.rpartition("/")[2].rpartition(".")[0] for job in jobs if not job.team}
    for document in project.policy.adopted.values():
        team, _, name = document.name.partition("/")
        job = by_name.get(document.name)
        cluster = document.value.cluster
        if job is None and name not in unknown:
            near = nearest(name, [known for known in by_name if known.startswith(f"{team}/")])
            near = near or nearest(document.name, by_name)
            remedy = f"declare it in jobs/{team}/{name}.yaml, or delete this file"
            if near is not None:
                remedy = f"call this file policy/adopted/{near}.yaml, or {remedy}"
            yield finding(
                "adopted-without-job",
                Place.start(document.path),
                f"there is no job {document.name} to take this run in",
                remedy,
            )
        elif job is not None and job.runs and cluster not in {run.cluster for run in job.runs}:
            yield finding(
                "adopted-without-job",
                document.place("cluster"),
                f"the job {document.name} does not name the cluster `{cluster}`",
                f"write `cluster: {cluster}` there, or delete this file",
                [Related(Place.start(job.path), "the job")],
            )
