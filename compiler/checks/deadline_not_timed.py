"""Nothing ends the run at its deadline to the minute.

## What it does
Reports `max_duration` of a PyTorchJob that Kueue does not admit: the cluster has no Kueue, or the
job names no queue.

## Why it is bad
The operator looks at a job's deadline only when something else happens to the job, or at its
resync about every ten hours. A run that hangs therefore goes on holding its accelerators. Kueue
has a clock of its own.

## Example
```yaml
# policy/rules.yaml
severity: {deadline-not-timed: notice}
```
```yaml
team: speech
image: asr-rocm
command: [torchrun, -m, asr.train]
accelerators: MI300X:8
num_nodes: 2
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- kubeflow/trainer#3358
- kubeflow/training-operator: pkg/common/util/fake_workqueue.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="OPS832",
    severity=Severity.NOTICE,
    stage="run",
    sources=(
        "kubeflow/trainer#3358",
        "kubeflow/training-operator: pkg/common/util/fake_workqueue.go",
    ),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The deadline without a clock."""
    if site.backend != "pytorchjob" or run.max_duration is None:
        return
    if site.kueue and run.queue is not None:
        return
    remedy = (
        "name a `queue`, for Kueue ends a run in time"
        if site.kueue
        else "watch such runs, or let the program end itself in time"
    )
    yield Report(
        ("max_duration",),
        "without Kueue the operator may notice the deadline hours later",
        remedy,
        ((site.cluster.place("admission"), "how the cluster admits runs"),),
    )
