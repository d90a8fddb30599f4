"""Shared memory is as large as all memory of the container.

## What it does
Reports `shm_size` at or above the memory limit of the training container, and so a volume of `pod:`
with `medium: Memory` whose size, with that of /dev/shm, is.

## Why it is bad
What is written to /dev/shm counts as memory of the container that writes it. Data loaders may
fill /dev/shm up to its size, so the kernel kills the training before /dev/shm is full, and the
exit code says nothing of shared memory.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
memory: 64Gi
shm_size: 64Gi
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
memory: 64Gi
shm_size: 16Gi
```

## References
- pytorch/pytorch#16979
- kubernetes/website#36494
- kubernetes/kubernetes#125852
"""

from collections.abc import Iterator
from fractions import Fraction

from compiler.amounts import GIB, size
from compiler.containers import passed
from compiler.diagnostics import Severity
from compiler.model import Member, Run
from compiler.nodes import Mapping
from compiler.quantity import parse
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="RES415",
    severity=Severity.ERROR,
    stage="run",
    sources=("pytorch/pytorch#16979", "kubernetes/website#36494", "kubernetes/kubernetes#125852"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The sizes of shared memory that leave no memory beside them."""
    for member in run.members:
        yield from _volumes(run, member)
        if member.shm is None or member.memory is None:
            continue
        limit = member.memory.limit
        if member.shm.value < limit.value:
            continue
        shm, memory = run.routes(member, "shm_size"), run.routes(member, "memory")
        declared = {run.origins.place(route).path == run.path: route for route in (memory, shm)}
        half = max(1, int(limit.value / 2 / GIB))
        # The one that the job itself has set is the one to change.
        if declared.get(True, shm) == shm:
            remedy = f"write {half}Gi, half of it, or raise `memory`"
            if run.origins.place(shm).path.startswith("policy/clusters/"):
                # It is written there for each accelerator.
                remedy = (
                    f"lower it until a pod gets {half}Gi, half of its memory, or raise `memory`"
                )
            yield Report(
                shm, _message(member.shm.text, limit.text), remedy, ((memory, "the memory"),)
            )
        else:
            remedy = f"write more than {size(member.shm.value)}, or set `shm_size` to {half}Gi"
            related = ((shm, "the shared memory"),)
            yield Report(memory, _message(member.shm.text, limit.text), remedy, related)


def _volumes(run: Run, member: Member) -> Iterator[Report]:
    """The volumes in memory of `pod:` that leave none, with /dev/shm beside them."""
    if member.memory is None:
        return
    limit = member.memory.limit
    total = Fraction(0) if member.shm is None else member.shm.value
    if total >= limit.value:
        return
    for route, node in passed(run, member, "spec", "volumes"):
        folder = node.get("emptyDir")
        if not isinstance(folder, Mapping) or str(folder.get("medium", "")) != "Memory":
            continue
        most = parse(str(folder.get("sizeLimit", "")))
        if most is None:
            continue
        total += most.value
        if total >= limit.value:
            yield Report(
                (*route, "emptyDir", "sizeLimit"),
                _message(size(total), limit.text),
                "write less, or raise `memory`",
                ((run.routes(member, "memory"), "the memory"),),
            )
            return


def _message(shm: str, memory: str) -> str:
    return f"shared memory may grow to {shm}, and the container has {memory} for it and all else"
