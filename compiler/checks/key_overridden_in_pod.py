"""A field under `pod:` overrides a key of the job.

## What it does
Reports the fields of the pod spec that say the same as a key of the job: `priorityClassName`
(`priority`), `terminationGracePeriodSeconds` (`stop.grace`) and `activeDeadlineSeconds`
(`max_duration`).

## Why it is bad
What `pod:` says wins over the key, and all that is made of the key still follows the key: the
team's caps on priorities and durations, the priority in the queue, the time that launchers and the
guard leave for the last checkpoint, the accelerator-hours that the run is counted with. So a limit
that a reviewer sees is not the one that holds.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
pod:
  spec:
    priorityClassName: high
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
priority: high
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- k8s.io/api: core/v1, PodSpec
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.nodes import Node, Scalar
from compiler.passthrough import fragments, mapped
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.suggestions import choose

RULE = Rule(
    code="DEC223",
    severity=Severity.ERROR,
    stage="run",
    sources=("k8s.io/api: core/v1/types.go (PodSpec)",),
)

KEYS = {
    "priorityClassName": "priority",
    "terminationGracePeriodSeconds": "stop.grace",
    "activeDeadlineSeconds": "max_duration",
}


def check(run: Run, site: Site) -> Iterator[Report]:
    """Fields of a fragment's pod spec that a key of the job is for."""
    for _, at, pod in fragments(run):
        spec = mapped(pod.get("spec"))
        for field, key in KEYS.items():
            value = spec.get(field)
            # Without a text the pod has no class of its own.
            if field not in spec or (field == "priorityClassName" and value == ""):
                continue
            yield Report(
                (*at, "spec", field),
                f"`{field}` overrides the key `{key}` of the job, and its limits",
                _remedy(key, value, site),
                key=True,
            )


def _remedy(key: str, value: Node | None, site: Site) -> str:
    words = str(value) if isinstance(value, Scalar) else ""
    if key == "priority":
        caps, known = site.team.value.caps, site.cluster.value.priorities
        allowed = caps.priorities if caps is not None else None
        if words and all(names is None or words in names for names in (allowed, known)):
            return f"take it out, and write priority: {words} at the top of the job"
        names = [name for name in allowed or known or () if known is None or name in known]
        if not names:
            return "take it out: the cluster has no priorities"
        return f"take it out; as the job's priority, {choose(words, names)}"
    seconds = words if words.isdecimal() and int(words) else "600"
    written = f"stop: {{grace: {seconds}s}}" if key == "stop.grace" else f"{key}: {seconds}s"
    return f"take it out, and write {written} at the top of the job"
