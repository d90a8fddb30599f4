"""Two jobs write their results to one folder.

## What it does
Compares where the runs of a team say that they write: `--output_dir`, `--save`, `work_dir=` and
the like in their arguments, or OUTPUT_DIR, below a claim that is mounted for writing. Paths are
compared within the claim, so it does not matter where each job mounts it. A stopped job writes
nothing. A run that is active writes what it was started with, whatever has become of its file
since.

## Why it is bad
Each overwrites the other's checkpoints and results, or resumes from weights that are not its own.
Nothing fails: both end well, and what is left in the folder is a mixture.

## Example
```yaml
# jobs/nlp/sft-a.yaml
image: vit
command: [torchrun, -m, vit.pretrain]
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
mounts: {/out: {claim: logs}}
args: [--output_dir, /out/sft]
```
```yaml
# jobs/nlp/sft-b.yaml
image: vit
command: [torchrun, -m, vit.pretrain]
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
mounts: {/results: {claim: logs}}
args: [--output_dir, /results/sft]
```

## Use instead
```yaml
# jobs/nlp/sft-a.yaml
image: vit
command: [torchrun, -m, vit.pretrain]
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
mounts: {/out: {claim: logs}}
args: [--output_dir, /out/$(RUN_NAME)]
```
```yaml
# jobs/nlp/sft-b.yaml
image: vit
command: [torchrun, -m, vit.pretrain]
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
mounts: {/results: {claim: logs}}
args: [--output_dir, /results/$(RUN_NAME)]
```

## References
- meta-pytorch/torchtune#481
- TheCacophonyProject/classifier-pipeline#14
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from compiler.diagnostics import Finding, Place, Related, Severity
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.project import Project

RULE = Rule(
    code="STO720",
    severity=Severity.WARNING,
    stage="repository",
    sources=("meta-pytorch/torchtune#481", "TheCacophonyProject/classifier-pipeline#14"),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The folders that an earlier job writes to already."""
    first: dict[tuple[str, str, str], tuple[Judged, list[Any]]] = {}
    for job in jobs:
        told: set[str] = set()
        for run in job.runs:
            for folder, place in () if run.stopped else run.writes.items():
                other, where = first.setdefault((run.cluster, run.namespace, folder), (job, place))
                if other is job or folder in told:
                    continue
                told.add(folder)
                claim, _, path = folder.partition("/")
                yield finding(
                    "output-of-two-runs",
                    Place(*place),
                    f"`{other.job}` writes to /{path} of the claim `{claim}` too",
                    "give each job a folder of its own: $(RUN_NAME) stands for the run's name",
                    [Related(Place(*where), f"the folder of {other.job}")],
                )
