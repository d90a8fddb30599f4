"""A container is to run as root and must not.

## What it does
Reports the user 0 together with `non_root: true`, in `security`, in `pod:` or in a base: as the
pod has them, or a container over it. Where the namespace refuses root altogether, root-user tells.

## Why it is bad
The kubelet does not start such a container. The pod stays in CreateContainerConfigError, and the
run holds its accelerators.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
security: {run_as_user: 0, non_root: true}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
security: {run_as_user: 1000, non_root: true}
```

## References
- k8s.io/kubernetes: pkg/kubelet/kuberuntime/security_context.go (verifyRunAsNonRoot)
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.backends import backends
from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.passthrough import Object, items, mapped
from compiler.rules import Report, Rule
from compiler.security.below import template_of
from compiler.security.posture import level_of, placed, pod_of, roles
from compiler.security.standards import Breach
from compiler.site import Site

RULE = Rule(
    code="SEC926",
    severity=Severity.ERROR,
    stage="run",
    sources=("k8s.io/kubernetes: pkg/kubelet/kuberuntime/security_context.go",),
)
_LISTS = ("initContainers", "containers")


def check(run: Run, site: Site) -> Iterator[Report]:
    """The containers that the kubelet would not start."""
    if level_of(site) == "restricted":
        return
    told: set[tuple[object, ...]] = set()
    for member, template in roles(run, backends()[site.backend].target):
        base = template_of(site, template)
        if not (member.security.non_root or member.pod or _forbids(base)):
            continue
        for path, who in _refused(pod_of(run, member, site, template)):
            found = placed(run, member, site, template, Breach("user", path, 0, who))
            if (found.route, found.place) in told:
                continue
            told.add((found.route, found.place))
            yield Report(
                found.route,
                f"{found.who} is to run as the user 0, which is root, and `non_root: true` forbids"
                " that",
                "write another user id, or take `non_root` out",
                place=found.place,
            )


def _forbids(base: Object) -> bool:
    spec = mapped(base.get("spec"))
    every = [spec, *(item for field in _LISTS for item in items(spec, field))]
    return any(_context(holder).get("runAsNonRoot") is True for holder in every)


def _context(holder: Object) -> Object:
    return mapped(holder.get("securityContext"))


def _refused(pod: Object) -> Iterator[tuple[tuple[str, ...], str]]:
    """The path of each user 0 that must not be, and the container; "" for that of the pod."""
    spec = mapped(pod.get("spec"))
    whole = _context(spec)
    for field in _LISTS:
        for container in items(spec, field):
            both = {**whole, **_context(container)}
            if both.get("runAsUser") != 0 or both.get("runAsNonRoot") is not True:
                continue
            own, name = _context(container), str(container.get("name", ""))
            if "runAsUser" in own or "runAsNonRoot" in own:
                step = "runAsUser" if "runAsUser" in own else "runAsNonRoot"
                yield ("spec", field, name, "securityContext", step), name
            else:
                yield ("spec", "securityContext", "runAsUser"), ""
